package members

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/vrrp"
)

// Without a key whoever reaches the link can say HELLO as a member that never was. One that hears nobody, and says that its
// message lives for long, counts for no longer than a message of this node would.
func TestMachineForgedClaimIsShort(t *testing.T) {
	const forged = 65 * time.Second
	for name, tt := range map[string]struct {
		every, interval, want time.Duration
	}{
		"as long as our HELLO lives":                  {DefaultEvery, 100 * ms, 3500 * ms},
		"of many addresses HELLOs are rare":           {10 * time.Second, 100 * ms, 35 * time.Second},
		"as long as our advertisement, which is rare": {DefaultEvery, 10 * time.Second, 40 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			now := epoch.Add(time.Minute)
			m := NewMachine(Config{Group: group, Address: nodeA, Session: 0xa, Every: tt.every})
			router := Router{Version: 3, VRID: 51, Interval: tt.interval}
			m.Step(now, SetSelf{Self{State: vrrp.Active, Fit: true, Claims: true, Router: router}})
			msg := claimant()
			msg.Peer.Lifetime = forged
			m.Step(now, Received{Source: nodeB, Message: msg})
			now = now.Add(deafAfter)
			list := claims(m.Step(now, Received{Source: nodeB, Message: msg}))
			require.Len(t, list, 1)
			assert.True(t, list[0].Deaf)
			assert.Equal(t, tt.want, list[0].Lasts)
			assert.Len(t, m.Claimants(now.Add(tt.want-ms)), 1)
			assert.Empty(t, m.Claimants(now.Add(tt.want)))
		})
	}
}

// Each invented claimant changes who is missing, and each of them that is forgotten does, too.
func TestMachineForgedClaimantsDrawFewHellos(t *testing.T) {
	for name, tt := range map[string]struct {
		self Self
		most int
	}{
		"a Backup": {Self{State: vrrp.Backup, Fit: true, Priority: 100}, 60},
		"a holder, which answers that it claims, too": {Self{State: vrrp.Active, Fit: true, Priority: 100, Claims: true}, 110},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			r.step(SetSelf{tt.self})
			r.wait(10 * time.Second)
			hellos := 0
			say := func(ev Event) {
				for _, s := range r.step(ev) {
					if s == "HELLO" {
						hellos++
					}
				}
			}
			msg := claimant()
			msg.Peer.Router.Interval = ms
			const many = 500
			for i := range many {
				for next := r.now.Add(time.Second / many); r.now.Before(next); {
					if at, ok := r.m.Deadline(); ok && at.Before(next) {
						r.now = at
						say(Expired{})
						continue
					}
					r.now = next
				}
				say(Received{Source: netip.AddrFrom4([4]byte{10, 88, byte(i >> 8), byte(i)}), Message: msg})
			}
			assert.LessOrEqual(t, hellos, tt.most)
			assert.Greater(t, hellos, 20, "it says what is missing")
		})
	}
}
