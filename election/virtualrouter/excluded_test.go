package virtualrouter

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/vrrp"
)

// TestActiveWhoseAdvertisementsNameNoAddressIsTakenOverFrom, whatever shows that it is dead, and also where a reload
// has left the last address out. The address that the hosts bind is asked for.
func TestActiveWhoseAdvertisementsNameNoAddressIsTakenOverFrom(t *testing.T) {
	next := netip.MustParseAddr("10.77.0.200")
	for name, tt := range map[string]struct {
		end    func(l *lan)
		within time.Duration
	}{
		"its process has ended": {func(l *lan) { l.dies(nodeA, nodeB, nodeC) }, 4 * time.Millisecond},
		"its node is gone": {func(l *lan) {
			l.dies(nodeA)
			l.finds(nodeB, nodeA, nodeC)
			l.finds(nodeC, nodeA, nodeB)
		}, 4 * time.Millisecond},
		"it is silent, and has beaten": {func(l *lan) {
			l.losesWhatHolds(true)
			l.losesAnswers()
			last := time.Now()
			for _, a := range []netip.Addr{nodeB, nodeC} {
				p := l.felt[a]
				p.mu.Lock()
				p.beat = func() time.Time { return last }
				p.mu.Unlock()
			}
		}, 4 * interval},
	} {
		for _, reload := range []bool{false, true} {
			title, asked := name, vip
			if reload {
				title, asked = name+", after a reload", next
			}
			t.Run(title, func(t *testing.T) {
				bubble.Test(t, func(t *testing.T) {
					l := newLAN()
					l.talk, l.felt = true, map[netip.Addr]*lanPulse{}
					var all []*member
					for i, a := range []netip.Addr{nodeA, nodeB, nodeC} {
						all = append(all, l.start(t, a, func(c *vrrp.Config) {
							c.Preempt = false
							if !reload {
								c.Addresses = nil
							}
						}))
						if i == 0 {
							holder(t, time.Second, all...)
						}
					}
					time.Sleep(time.Second)
					if reload {
						for _, m := range all {
							e := m.Elector.(*Elector)
							cfg := e.cfg.Router
							cfg.Addresses = nil
							e.Reconfigure(cfg, next, 1, 0)
						}
					}
					require.Equal(t, nodeA, holder(t, 2*time.Second+interval/2, all...).self) // none of its advertisements is on the way
					began := time.Now()
					tt.end(l)
					for len(holders(all[1:]...)) == 0 {
						time.Sleep(time.Millisecond / 4)
						require.Less(t, time.Since(began), 2*time.Second, "nobody takes over")
					}
					assert.LessOrEqual(t, time.Since(began), tt.within)
					l.mu.Lock()
					assert.NotEmpty(t, l.asked)
					for _, a := range l.asked {
						assert.Equal(t, asked, a)
					}
					l.mu.Unlock()
					stopAll(t, all...)
				})
			})
		}
	}
}
