package spread

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// sender is a member that sends on what it receives, and serves nothing.
func (b *bench) sender(n byte) {
	b.member(n, true)
	s := said(true)
	s.Weight = 0
	b.elector.set(election.Member{Address: addr(n), Spread: s, State: election.Active})
}

// All nodes have the same table, whichever of the senders they hear.
func TestServiceSendersOwnNothing(t *testing.T) {
	cfg := spreadOne()
	cfg.Spread.Members, cfg.Candidates = []netip.Addr{addr(13), addr(11)}, []netip.Addr{addr(2), addr(3)}
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		b.sender(2)
		b.member(13, true)
		b.member(14, true) // one that is in neither list
		b.begin()
		time.Sleep(settle)
		assert.Equal(t, map[string]int{"10.77.0.13 fit": 60, "10.77.0.11 fit": 60, "10.77.0.2 fit": 0}, b.shares())
		p := b.host.plane("api")
		require.Len(t, p.cfg.Members, 3, "what comes from it is not spread again")
		before := p.cfg.Slots
		b.sender(3)
		time.Sleep(tick)
		assert.Equal(t, map[string]int{"10.77.0.13 fit": 60, "10.77.0.11 fit": 60, "10.77.0.2 fit": 0, "10.77.0.3 fit": 0}, b.shares())
		assert.Equal(t, before.Owner, b.host.plane("api").cfg.Slots.Owner)
		b.member(3, true) // it has another list now
		time.Sleep(tick)
		assert.Equal(t, map[string]int{"10.77.0.13 fit": 60, "10.77.0.11 fit": 60, "10.77.0.2 fit": 0}, b.shares())
		b.elector.remove(addr(2))
		b.host.set(addr(2), false)
		time.Sleep(forgetDead + time.Second)
		assert.Equal(t, map[string]int{"10.77.0.13 fit": 60, "10.77.0.11 fit": 60}, b.shares())
	})
}

// What a pod of a member connects to is that member's own where balancers alone receive: what it sent on would stay with them.
func TestServiceOfAMemberThatNeverHolds(t *testing.T) {
	for _, never := range []bool{true, false} {
		inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
			b.elector.set(election.Member{Address: addr(11), Self: true, Node: "n1", NoCandidate: never})
			b.member(12, true)
			b.begin()
			time.Sleep(settle)
			assert.Equal(t, never, b.host.plane("api").cfg.NeverHolds)
		})
	}
}

// A sender has nothing that could serve when nobody is fit.
func TestServiceOfSendersServesUnfitRatherThanNotAtAll(t *testing.T) {
	cfg := spreadOne()
	cfg.Spread.Members, cfg.Candidates = []netip.Addr{addr(11), addr(12), addr(13)}, []netip.Addr{addr(2)}
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		b.member(12, false)
		b.member(13, false)
		b.ready = instance.Readiness{Open: true, Reason: "it fails"}
		b.begin()
		time.Sleep(settle)
		assert.Equal(t, map[string]int{"10.77.0.11 keeps": 0, "10.77.0.12 keeps": 0, "10.77.0.13 keeps": 0}, b.shares(), "whoever receives serves")
		b.sender(2)
		time.Sleep(tick)
		assert.Equal(t, map[string]int{"10.77.0.11 keeps": 40, "10.77.0.12 keeps": 40, "10.77.0.13 keeps": 40, "10.77.0.2 fit": 0}, b.shares())
		b.member(12, true)
		time.Sleep(tick)
		assert.Equal(t, map[string]int{"10.77.0.11 keeps": 0, "10.77.0.12 fit": 120, "10.77.0.13 keeps": 0, "10.77.0.2 fit": 0}, b.shares())
	})
}

func TestServiceOfASenderSaysSo(t *testing.T) {
	cfg := spreadOne()
	cfg.Spread.Members, cfg.Candidates = []netip.Addr{addr(12), addr(13)}, []netip.Addr{addr(11)}
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		b.member(12, true)
		b.member(13, true)
		b.begin()
		time.Sleep(settle)
		assert.Equal(t, map[string]int{"10.77.0.12 fit": 60, "10.77.0.13 fit": 60, "10.77.0.11 fit": 0}, b.shares())
		require.NotNil(t, b.elector.own())
		assert.Zero(t, b.elector.own().Weight)
		assert.Equal(t, "it only sends on what it receives", b.service.Status().Spread.Tables[0].Shares[2].Why)
		next := cfg
		next.Spread.Members = append(next.Spread.Members, addr(11))
		b.reconfigure(next)
		time.Sleep(tick)
		assert.Equal(t, uint8(1), b.elector.own().Weight, "it serves now")
	})
}
