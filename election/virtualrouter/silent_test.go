package virtualrouter

import (
	"net/netip"
	"testing"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/vrrp"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A holder that is killed is not shown as the Active for longer than it is followed as one, and keeps its name.
func TestSilentMemberIsShownAsSilent(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l, h, others := talking(t)
		l.isolate(h.self, true)
		next := holder(t, 450*time.Millisecond, others...)
		for _, wait := range []time.Duration{0, time.Second, 3 * time.Second, 5 * time.Minute} {
			time.Sleep(wait)
			for _, o := range others {
				m := memberOf(o, h.self)
				assert.Equal(t, election.Silent, m.State, "%v after %v", o.self, wait)
				assert.Equal(t, "node-"+h.self.String(), m.Node)
				assert.Equal(t, "active", m.Was)
				active := 0
				for _, m := range o.Status().Members {
					if m.State == election.Active {
						active++
					}
				}
				assert.Equal(t, 1, active)
				assert.Equal(t, next.self, o.Status().Holder)
			}
		}
		l.isolate(h.self, false)
		time.Sleep(2 * time.Second)
		for _, o := range others {
			assert.NotEqual(t, election.Silent, memberOf(o, h.self).State)
		}
		require.NoError(t, h.stop())
		time.Sleep(10 * time.Millisecond)
		for _, o := range others {
			assert.Len(t, o.Status().Members, 2, "it has said good-bye")
		}
		stopAll(t, others...)
	})
}

// Invented members that fall silent do not displace one that was there for longer.
func TestSilentMemberIsShownAfterAFlood(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l, h, others := talking(t)
		l.isolate(h.self, true)
		holder(t, 450*time.Millisecond, others...)
		time.Sleep(5 * time.Second)
		for i := range 3 * maxMembers {
			for _, w := range l.mail {
				w.put(members.Received{Source: netip.AddrFrom4([4]byte{10, 88, 0, byte(i)}), Message: members.Message{
					Type: members.Hello, Session: 1, Peer: members.PeerState{Self: members.Self{State: vrrp.Backup}, Group: w.group, Lifetime: time.Second},
				}})
			}
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(5 * time.Second)
		for _, o := range others {
			assert.Equal(t, election.Silent, memberOf(o, h.self).State)
			assert.LessOrEqual(t, len(o.Status().Members), maxMembers+3)
		}
		require.NoError(t, h.stop())
		stopAll(t, others...)
	})
}
