package spread

import (
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// holds says who has the address.
func (b *bench) holds(n byte) {
	b.elector.mu.Lock()
	defer b.elector.mu.Unlock()
	for a, m := range b.elector.members {
		m.State = election.Backup
		if a == addr(n) {
			m.State = election.Active
		}
		b.elector.members[a] = m
	}
}

// connected is how many connections a table translates here.
func (b *bench) connected(table string, n int) {
	b.host.mu.Lock()
	defer b.host.mu.Unlock()
	b.host.planes[table].connections = n
}

func (b *bench) off() {
	cfg := spreadOne()
	cfg.Spread.Via = config.ViaOff
	b.reconfigure(cfg)
	synctest.Wait()
}

// A reload to off ends no connection: new ones are the holder's, and known ones stay where they are.
func TestServiceTurnedOff(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.member(12, true)
		b.member(13, true)
		b.holds(11)
		b.begin()
		time.Sleep(settle)
		before := b.host.plane("api").cfg.Slots
		b.off()
		assert.True(t, b.host.plane("api").closed)
		p := b.host.plane("api.-ends")
		require.Equal(t, 1, p.applied)
		assert.True(t, p.cfg.Ending)
		assert.Equal(t, uint16(6443), p.cfg.Ports[0].Target)
		for slot, owner := range p.cfg.Slots.Owner {
			require.Zero(t, owner, "the holder")
			require.True(t, before.Owner[slot] == 0 || before.Owner[slot] == p.cfg.Slots.Second[slot], "whoever had it")
		}
		assert.False(t, b.elector.own().Ports[0].Healthy)
		status := b.service.Status().Spread
		assert.Equal(t, instance.SpreadOff, status.Via)
		assert.Equal(t, time.Now().Add(EndsWithin), status.Tables[0].Ends)

		b.holds(12)
		time.Sleep(tick)
		table := b.host.plane("api.-ends").cfg.Slots
		for slot, owner := range table.Owner {
			require.Equal(t, uint8(1), owner, "the next holder")
			require.True(t, before.Owner[slot] == 1 || before.Owner[slot] == table.Second[slot], "whoever had it")
		}
	})
}

// What was spread ends with the last connection anywhere, or when its time is over.
func TestServiceTurnedOffEnds(t *testing.T) {
	tests := []struct {
		name        string
		here, there int
		begin, ends time.Duration
	}{
		{"no connection", 0, 0, leastEnding, leastEnding + countEvery + tick},
		{"connections here", 1, 0, EndsWithin - time.Second, EndsWithin + tick},
		{"connections elsewhere", 0, 1, EndsWithin - time.Second, EndsWithin + tick},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
				b.member(12, true)
				s := said(true)
				s.Ports[0].Connections = uint32(tt.there)
				b.elector.set(election.Member{Address: addr(12), Spread: s, Fit: new(true)})
				b.holds(11)
				b.begin()
				time.Sleep(settle)
				b.off()
				b.connected("api.-ends", tt.here)
				time.Sleep(tt.begin - tick)
				assert.False(t, b.service.Finished())
				assert.NotNil(t, b.service.Status().Spread)
				time.Sleep(tt.ends - tt.begin + tick)
				assert.True(t, b.service.Finished())
				assert.Nil(t, b.service.Status().Spread)
				assert.Nil(t, b.elector.own())
				assert.True(t, b.host.plane("api.-ends").closed)
			})
		})
	}
}

func TestServiceTurnedOnAgainWhileItEnds(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.member(12, true)
		b.holds(11)
		b.begin()
		time.Sleep(settle)
		b.off()
		b.reconfigure(spreadOne())
		synctest.Wait()
		assert.True(t, b.host.plane("api.-ends").closed)
		p := b.host.plane("api")
		assert.False(t, p.closed)
		assert.False(t, p.cfg.Ending)
		assert.Equal(t, map[string]int{"10.77.0.11 fit": 60, "10.77.0.12 fit": 60}, b.shares())
		for slot, owner := range p.cfg.Slots.Owner {
			require.True(t, owner == 0 || p.cfg.Slots.Second[slot] == 0, "what was new meanwhile is the holder's")
		}
		assert.True(t, b.elector.own().Ports[0].Healthy)
	})
}

func TestServicePortThatIsNotSpreadAnyMore(t *testing.T) {
	cfg := spreadOne()
	cfg.Spread.Ports = append(cfg.Spread.Ports, config.SpreadPort{Protocol: config.ProtocolTCP, Port: 5000, Target: 5001})
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		m := election.Member{Address: addr(12), Spread: said(true), Fit: new(true)}
		m.Spread.Ports = append(m.Spread.Ports, election.SpreadPort{Protocol: 6, Port: 5000, Healthy: true, Connections: 3})
		b.elector.set(m)
		b.holds(11)
		b.begin()
		time.Sleep(settle)
		assert.Equal(t, []Ending{{SpreadPort: cfg.Spread.Ports[1]}}, b.service.EndingWithout(spreadOne().SpreadPorts()))
		b.reconfigure(spreadOne())
		synctest.Wait()
		live, ends := b.host.plane("api"), b.host.plane("api.tcp_5001.-ends")
		assert.False(t, live.closed)
		assert.Len(t, live.cfg.Ports, 1)
		assert.False(t, live.cfg.Ending)
		assert.Equal(t, uint16(5000), ends.cfg.Ports[0].Port)
		assert.True(t, ends.cfg.Ending)
		own := b.elector.own().Ports
		assert.Equal(t, []bool{true, false}, []bool{own[0].Healthy, own[1].Healthy})
		status := b.service.Status().Spread
		assert.Equal(t, instance.SpreadDirect, status.Via)
		assert.Equal(t, []bool{true, false}, []bool{status.Tables[0].Ends.IsZero(), status.Tables[1].Ends.IsZero()})
		time.Sleep(time.Minute)
		assert.False(t, b.host.plane("api.tcp_5001.-ends").closed, "another member has some")
		m.Spread = said(true)
		b.elector.set(m)
		time.Sleep(countEvery + tick)
		assert.True(t, b.host.plane("api.tcp_5001.-ends").closed)
		assert.False(t, b.service.Finished())
		assert.Len(t, b.elector.own().Ports, 1)
	})
}

// A member that is taken from the list keeps its connections, and its place is given up after them.
func TestServiceMemberThatIsNotListedAnyMore(t *testing.T) {
	cfg := spreadOne()
	cfg.Spread.Members = []netip.Addr{addr(12), addr(11), addr(13)}
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		b.member(13, true)
		m := election.Member{Address: addr(12), Spread: said(true), Fit: new(true)}
		m.Spread.Ports[0].Connections = 1
		b.elector.set(m)
		b.begin()
		time.Sleep(settle)
		before := b.host.plane("api").cfg.Slots
		cfg.Spread.Members = cfg.Spread.Members[1:]
		b.reconfigure(cfg)
		synctest.Wait()
		assert.Equal(t, map[string]int{"10.77.0.11 fit": 60, "10.77.0.13 fit": 60, "10.77.0.12 keeps": 0}, b.shares())
		shares := b.service.Status().Spread.Tables[0].Shares
		assert.Equal(t, addr(12), shares[2].Address, "behind those of the list")
		table := b.host.plane("api").cfg.Slots
		for slot, owner := range before.Owner {
			require.True(t, owner != 0 || table.Second[slot] == 2, "its connections are found")
		}
		time.Sleep(time.Minute)
		assert.Contains(t, b.shares(), "10.77.0.12 keeps")
		m.Spread = said(true)
		b.elector.set(m)
		time.Sleep(tick)
		assert.NotContains(t, b.shares(), "10.77.0.12 keeps")
		assert.False(t, slices.Contains(b.host.plane("api").cfg.Slots.Second, uint8(2)))
	})
}
