package address

import (
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
	for name, c := range map[string]struct {
		vip      netip.Addr
		answered bool
	}{
		"IPv4, it has":     {vip4.Addr(), true},
		"IPv4, it has not": {vip4.Addr(), false},
		"IPv6, it has":     {vip6.Addr(), true},
		"IPv6, it has not": {vip6.Addr(), false},
	} {
		t.Run(name, func(t *testing.T) {
			e := &askedElector{}
			elected := electedBy(&fakeFence{egress: true}, e, &e.fakeElector)
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
			})
		})
	}
}
