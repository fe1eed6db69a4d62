package intercept

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/kernel/nfttables"
)

// three are servers at 10.1.0.5, .6 and .7, of one address in each family.
func three() Config {
	c := Config{Lifetime: time.Minute}
	for _, to := range []struct{ vip, server string }{{"10.1.0.100", "10.1.0.%d"}, {"fd01::100", "fd01::%d"}} {
		t := Target{Address: netip.MustParseAddr(to.vip), Protocol: unix.IPPROTO_TCP, Port: 9443}
		for i := range 3 {
			t.Backends = append(t.Backends, Backend{netip.AddrPortFrom(netip.MustParseAddr(fmt.Sprintf(to.server, 5+i)), 6443), 1})
		}
		c.Targets = append(c.Targets, t)
	}
	return c
}

func servers(backends []Backend) (out []string) {
	for _, b := range backends {
		out = append(out, b.At.Addr().String())
	}
	return out
}

func TestTurnsAreByWeight(t *testing.T) {
	backends := three().Targets[0].usual()
	backends[1].Weight = 2
	assert.Equal(t, []string{"10.1.0.6", "10.1.0.5", "10.1.0.7", "10.1.0.6"}, servers(turns(backends, 0)))
	assert.Empty(t, turns(nil, 4711))
}

func TestTurnsBeginElsewhereOnOtherHosts(t *testing.T) {
	backends := three().Targets[0].usual()
	first := map[string]int{}
	for start := range uint32(300) {
		first[turns(backends, start)[0].At.Addr().String()]++
	}
	assert.Equal(t, map[string]int{"10.1.0.5": 100, "10.1.0.6": 100, "10.1.0.7": 100}, first)
}

func TestUsualBackends(t *testing.T) {
	target := three().Targets[0]
	slices.Reverse(target.Backends)
	target.Backends[0].Weight = 0
	target.Backends = append(target.Backends, target.Backends[1], Backend{netip.MustParseAddrPort("[fd01::5]:6443"), 1})
	assert.Equal(t, []string{"10.1.0.5", "10.1.0.6"}, servers(target.usual()))
}

// named are the names of chains, and those of sets with how many elements each has.
func named(t nfttables.Table) (chains []string, sets map[string]int) {
	for _, c := range t.Chains {
		chains = append(chains, c.Name)
	}
	sets = map[string]int{}
	for _, s := range t.Sets {
		sets[s.Name] = len(s.Elements)
	}
	return chains, sets
}

func TestRenderOfTwoFamilies(t *testing.T) {
	tables := three().render(0, answering)
	require.Len(t, tables, 2)
	assert.Equal(t, []byte{unix.NFPROTO_IPV4, unix.NFPROTO_IPV6}, []byte{tables[0].Family, tables[1].Family})
	chains, sets := named(tables[0])
	assert.Equal(t, []string{"to-10.1.0.5-port-6443", "to-10.1.0.6-port-6443", "to-10.1.0.7-port-6443", "for-10.1.0.100-tcp-9443", "output"}, chains)
	assert.Equal(t, map[string]int{"targets": 1, "for-10.1.0.100-tcp-9443": 3}, sets)
	chains, _ = named(tables[1])
	assert.Equal(t, "to-fd01--5-port-6443", chains[0])
	turns := three().render(2, answering)[0].Sets[1].Elements
	assert.Equal(t, []string{"to-10.1.0.6-port-6443", "to-10.1.0.7-port-6443", "to-10.1.0.5-port-6443"}, []string{turns[0].To, turns[1].To, turns[2].To})
}

func TestRenderOfATargetWithoutBackends(t *testing.T) {
	c := three()
	c.Targets[0].Backends = nil
	c.Targets[1].Backends = c.Targets[1].Backends[:1]
	c.Targets[1].Backends[0].Weight = 0
	for _, table := range c.render(0, answering) {
		chains, sets := named(table)
		assert.Equal(t, []string{"output"}, chains)
		assert.Equal(t, map[string]int{"targets": 0}, sets)
		assert.Equal(t, []nfttables.Match{tracked(), inItsMidst(), layoutOf(table.Family).toTarget()}, table.Chains[0].Rules, "connections stay tracked")
	}
}

func layoutOf(family byte) layout {
	return layouts[slices.IndexFunc(layouts, func(l layout) bool { return l.family == family })]
}

func TestRenderOfHooks(t *testing.T) {
	c := three()
	c.Incoming = true
	four, sets := named(c.render(0, answering)[0])
	assert.Equal(t, []string{"output", "incoming", "stray"}, four[4:])
	assert.Equal(t, 1, sets["ports"])
	assert.Contains(t, sets, "strays")
	_, sets = named(c.render(0, silent)[0])
	assert.NotContains(t, sets, "strays", "an older kernel")
	c.Targets[0].Backends = nil
	_, sets = named(c.render(0, answering)[0])
	assert.Zero(t, sets["ports"], "what goes by the network is left alone")
}

// TestRenderIsTheSameInAnotherOrder of targets and backends.
func TestRenderIsTheSameInAnotherOrder(t *testing.T) {
	one, other := three(), three()
	for _, c := range []*Config{&one, &other} {
		c.Targets = append(c.Targets, Target{Address: netip.MustParseAddr("10.1.0.101"), Protocol: unix.IPPROTO_UDP, Port: 53, Backends: c.Targets[0].Backends})
		c.Incoming = true
	}
	slices.Reverse(other.Targets)
	for i := range other.Targets {
		other.Targets[i].Backends = slices.Clone(other.Targets[i].Backends)
		slices.Reverse(other.Targets[i].Backends)
	}
	assert.Equal(t, one.render(7, answering), other.render(7, answering))
}

func TestApplyRefusesAWrongConfiguration(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"port 9443: protocol 1, want 6 (TCP) or 17 (UDP)":                      func(c *Config) { c.Targets[0].Protocol = 1 },
		"10.1.0.100:0: want an address without a zone, and a port":             func(c *Config) { c.Targets[0].Port = 0 },
		"10.1.0.100:9443 of protocol 6: listed twice":                          func(c *Config) { c.Targets = append(c.Targets, c.Targets[0]) },
		"backend [fe80::1%eth0]:1: want an address without a zone, and a port": func(c *Config) { c.Targets[1].Backends[0] = Backend{netip.MustParseAddrPort("[fe80::1%eth0]:1"), 1} },
		"lifetime 10ms, want a second at least":                                func(c *Config) { c.Lifetime = 10 * time.Millisecond },
	} {
		c := three()
		change(&c)
		table, err := Open("api", nil)
		require.NoError(t, err)
		assert.EqualError(t, table.Apply(c), "intercept: "+want)
	}
	_, err := Open("", nil)
	assert.Error(t, err)
}
