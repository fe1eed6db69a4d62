package address

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
)

// askedElector follows another node, and notes which holder is said not to answer.
type askedElector struct {
	*fakeElector
	told []netip.Addr // guarded by the elector's mu
}

func (e *askedElector) SetUnanswered(holder netip.Addr) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.told = append(e.told, holder)
}

// A holder is blamed for questions that it leaves unanswered, unless it has never answered any, however often it announces: a switch may drop the questions
// of nodes alone.
func TestHolderIsBlamedOnlyWhereItHasAnsweredBefore(t *testing.T) {
	type link struct {
		vip      netip.Addr
		count    int // addresses, between whose questions there is less time the more they are; 0: one of each family
		answered bool
	}
	cases := map[string]link{}
	for family, vip := range map[string]netip.Addr{"IPv4": vip4.Addr(), "IPv6": vip6.Addr()} {
		cases[family+" beside the other, it has"] = link{vip, 0, true}
		cases[family+" beside the other, it has not"] = link{vip, 0, false}
		for _, n := range []int{1, 16, 48, 96, 200, 400} {
			cases[fmt.Sprintf("%s, %d addresses, it has", family, n)] = link{vip, n, true}
			cases[fmt.Sprintf("%s, %d addresses, it has not", family, n)] = link{vip, n, false}
		}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			e := &askedElector{}
			kernel := electedBy(&fakeFence{egress: true}, e, &e.fakeElector)
			elected := func(in *entry) {
				kernel(in)
				if c.count > 0 {
					in.Addresses = nil
				}
				for a := c.vip; len(in.Addresses) < c.count; a = a.Next() {
					in.Addresses = append(in.Addresses, netip.PrefixFrom(a, a.BitLen()))
				}
			}
			run(t, func(h *fakeHost) { h.owners[nodeB] = memberMAC }, elected, func(t *testing.T, b *bench) {
				time.Sleep(time.Second) // the questions at the start of a term are over
				e.mu.Lock()
				e.status = election.Status{State: election.Backup, Holder: nodeB, Members: []election.Member{
					{Address: nodeA, Self: true}, {Address: nodeB, State: election.Active, Fit: new(true)},
				}}
				e.mu.Unlock()
				if c.answered {
					b.host.set(func(h *fakeHost) { h.owners[c.vip] = memberMAC })
				}
				require.NoError(t, e.decide(election.Standby, nodeB))
				for _, at := range []time.Duration{0, 20, 80, 200, 400, 800} { // a burst
					time.Sleep(at * time.Millisecond)
					b.hear(c.vip, memberMAC)
				}
				time.Sleep(5 * time.Second)
				b.host.set(func(h *fakeHost) { delete(h.owners, c.vip) })
				time.Sleep(30 * time.Second)
				synctest.Wait()
				e.mu.Lock()
				defer e.mu.Unlock()
				assert.Equal(t, c.answered, slices.Contains(e.told, nodeB))
				again := slices.DeleteFunc(e.told, func(a netip.Addr) bool { return a != nodeB })
				assert.NotEqual(t, 1, len(again), "it is said again as long as it goes on: other hosts may not have answered the first time")
			})
		})
	}
}
