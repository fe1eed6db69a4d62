package spread

import (
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/config"
)

// standing keeps what a service has said of its tables.
type standing struct {
	mu   sync.Mutex
	said []bool
}

func (s *standing) set(yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = append(s.said, yes)
}

func (s *standing) now() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.said) > 0 && s.said[len(s.said)-1]
}

func eachConfig() (setup, *standing) {
	cfg, s := spreadOne(), &standing{}
	cfg.Election, cfg.stands = config.ElectionLocal, s.set
	return cfg, s
}

// TestEachMemberReceives where no host has the addresses: none is their holder, and each active one does what else a holder does.
func TestEachMemberReceives(t *testing.T) {
	cfg, tables := eachConfig()
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		b.elector.set(election.Member{Address: addr(11), Self: true, Node: "n1", State: election.Active})
		b.host.set(addr(12), true)
		of := said(true)
		of.Clients = []election.Client{client(7)}
		b.elector.set(election.Member{Address: addr(12), Node: "n2", Spread: of, Fit: new(true), State: election.Active})
		// One that announces as before the load was spread: it has no connections of others.
		b.elector.set(election.Member{Address: addr(10), Node: "n0", Fit: new(true), State: election.Active})
		b.begin()
		assert.False(t, tables.now())
		time.Sleep(settle + tick)
		assert.True(t, tables.now(), "the kernel has them")
		p := b.host.plane("api")
		assert.True(t, p.cfg.Unbound)
		require.NotNil(t, p.cfg.Slots)
		assert.Zero(t, nobody(p.cfg.Slots))
		assert.Equal(t, 60, b.shares()["10.77.0.11 fit"])
		for _, m := range b.service.Status().Spread.Members {
			assert.False(t, m.Holder, "%s", m.Address)
		}
		b.host.mu.Lock()
		before := b.host.looks[netip.AddrPortFrom(addr(12), 6443)]
		b.host.mu.Unlock()
		time.Sleep(2 * time.Second)
		b.host.mu.Lock()
		looks := b.host.looks[netip.AddrPortFrom(addr(12), 6443)] - before
		b.host.mu.Unlock()
		assert.GreaterOrEqual(t, looks, 7, "as often as a holder: connections come here")
		b.host.set(addr(12), false)
		b.elector.silence(addr(12))
		time.Sleep(3 * time.Second)
		b.host.mu.Lock()
		defer b.host.mu.Unlock()
		require.NotEmpty(t, b.host.poked, "who has died leaves its clients to each of the others")
	})
}

// TestStandingTablesAreSaid also of a kernel that refuses the first ones.
func TestStandingTablesAreSaid(t *testing.T) {
	cfg, tables := eachConfig()
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		b.host.mu.Lock()
		b.host.broken = assert.AnError
		b.host.mu.Unlock()
		b.begin()
		time.Sleep(settle + tick)
		assert.False(t, tables.now())
		b.host.mu.Lock()
		b.host.broken = nil
		b.host.mu.Unlock()
		time.Sleep(retryAfter + tick)
		assert.True(t, tables.now())
	})
}
