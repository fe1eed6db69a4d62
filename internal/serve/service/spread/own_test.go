package spread

import (
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/kernel/spreadtables"
)

func (p *fakePlane) EndOwn(members ...netip.Addr) (int, []spreadtables.Client, error) {
	p.host.mu.Lock()
	defer p.host.mu.Unlock()
	if p.host.keeps != nil {
		p.host.refuse++
		return 0, nil, p.host.keeps
	}
	p.endedOwn = append(p.endedOwn, members)
	p.ownersThen = ownersOf(p.cfg)
	return len(members), p.host.masqueraded, nil
}

// TestServiceEndsOwnConnectionsToTheDead each time that the member dies, and on a node that does not hold the address, too.
func TestServiceEndsOwnConnectionsToTheDead(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.member(12, true)
		b.begin()
		time.Sleep(settle)
		assert.Empty(t, b.host.plane("api").endedOwn)
		for times := 1; times <= 2; times++ {
			b.host.set(addr(12), false)
			b.elector.silence(addr(12))
			time.Sleep(450 * time.Millisecond)
			p := b.host.plane("api")
			assert.Len(t, p.endedOwn, times, "within 0.45 s")
			assert.Equal(t, []netip.Addr{addr(12)}, p.endedOwn[times-1])
			assert.NotContains(t, p.ownersThen, addr(12), "the next connection goes to another member")
			time.Sleep(2 * time.Second)
			assert.Len(t, b.host.plane("api").endedOwn, times, "once")
			b.elector.mu.Lock()
			delete(b.elector.frozen, addr(12))
			b.elector.mu.Unlock()
			b.member(12, true)
			time.Sleep(tick)
		}
	})
}

// TestServiceLeavesOwnConnectionsToTheSilent: the host of the member lives, and serves them.
func TestServiceLeavesOwnConnectionsToTheSilent(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.member(12, true)
		b.begin()
		time.Sleep(settle)
		b.elector.silence(addr(12))
		time.Sleep(2 * time.Second)
		assert.Empty(t, b.host.plane("api").endedOwn)
	})
}

// TestServiceLeavesOwnConnectionsToAMemberThatSpreadsNothingMore: its host lives, and serves them.
func TestServiceLeavesOwnConnectionsToAMemberThatSpreadsNothingMore(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.member(12, true)
		b.begin()
		time.Sleep(settle)
		other := said(true)
		other.Ports[0].Port = 5000
		b.elector.set(election.Member{Address: addr(12), Node: "n2", Spread: other, Fit: new(true)})
		time.Sleep(2 * time.Second)
		assert.Equal(t, map[string]int{"10.77.0.11 fit": 120, "10.77.0.12 dead": 0}, b.shares())
		assert.Empty(t, b.host.plane("api").endedOwn)
	})
}

// TestServiceTellsClientsThatItHasMasqueraded: a holder that was reloaded from masquerade to direct alone knows them, also once it holds nothing any more.
func TestServiceTellsClientsThatItHasMasqueraded(t *testing.T) {
	client := spreadtables.Client{At: netip.MustParseAddrPort("192.0.2.7:40000"), To: netip.AddrPortFrom(addr(100), 9443)}
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.onHost(func(h *fakeHost) { h.masqueraded = []spreadtables.Client{client} })
		b.member(12, true)
		b.begin()
		time.Sleep(settle)
		b.host.set(addr(12), false)
		b.elector.silence(addr(12))
		time.Sleep(1500 * time.Millisecond)
		b.onHost(func(h *fakeHost) {
			assert.Equal(t, slices.Repeat([]spreadtables.Client{client}, len(askClientsAfter)), h.poked, "another member may have seen the death later")
		})
	})
}

func TestServiceTriesToEndOwnConnectionsAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		refused time.Duration
		ended   int
		told    int
	}{
		"the kernel does it the second time": {time.Second, 1, 0},
		"the kernel never does it":           {10 * time.Second, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
				b.member(12, true)
				b.begin()
				time.Sleep(settle)
				b.host.keep(errors.New("busy"))
				b.host.set(addr(12), false)
				b.elector.silence(addr(12))
				time.Sleep(tt.refused)
				b.host.keep(nil)
				time.Sleep(5 * time.Second)
				assert.Len(t, b.host.plane("api").endedOwn, tt.ended)
				assert.Equal(t, tt.told, b.log.lines("may go on until they time out"))
			})
		})
	}
}
