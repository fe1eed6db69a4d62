package spreadtables

import (
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/members/slots"
)

// three are members at 10.1.0.5, .6 and .7, of which the first is this node. Of twelve slots each has four.
func three(index int) Config {
	m := func(last byte, self bool) MemberAt {
		return MemberAt{
			Addresses: []netip.Addr{netip.AddrFrom4([4]byte{10, 1, 0, last}), netip.MustParseAddr("fd01::" + string('0'+last))},
			MAC:       net.HardwareAddr{2, 0, 0, 0, 0, last}, Self: self,
		}
	}
	return Config{
		Link: "eth0", Index: index,
		Addresses: []netip.Addr{netip.MustParseAddr("10.1.0.100"), netip.MustParseAddr("fd01::100")},
		Ports:     []Port{{unix.IPPROTO_TCP, 9443, 6443}, {unix.IPPROTO_UDP, 53, 5353}},
		Self:      []netip.Addr{netip.MustParseAddr("10.1.0.5"), netip.MustParseAddr("fd01::5")},
		Members:   []MemberAt{m(5, true), m(6, false), m(7, false)},
		Slots: &slots.Table{
			Owner:  []uint8{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2},
			Second: []uint8{1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0},
			Next:   []uint8{1, 2, 0},
		},
		Seed: 0x6b76, Lifetime: time.Minute,
	}
}

var all = Abilities{Ingress: true, Sockets: true}

// elementsOf are those of one set, in the table of a family.
func elementsOf(t *testing.T, tables []table, family byte, name string) []element {
	t.Helper()
	for _, table := range tables {
		for _, s := range table.Sets {
			if table.Family == family && s.Name == name {
				return listed(s)
			}
		}
	}
	require.Fail(t, "no set", name)
	return nil
}

// listed are all elements.
func listed(s set) []element {
	out := slices.Clone(s.Elements)
	for slot := range s.BySlot.Value {
		if e, ok := s.BySlot.Of(slot); ok {
			e.Key = string(native(uint32(slot)))
			out = append(out, e)
		}
	}
	return out
}

func keys(elements []element) (out []string) {
	for _, e := range elements {
		out = append(out, e.Key)
	}
	return out
}

func slotsOf(n ...uint32) (out []string) {
	for _, s := range n {
		out = append(out, string(native(s)))
	}
	return out
}

func TestRenderLeavesOwnSlotsToThisNode(t *testing.T) {
	tables := three(2).render(all)
	require.Len(t, tables, 3)
	others := slotsOf(1, 2, 4, 5, 7, 8, 10, 11)
	assert.Equal(t, others, keys(elementsOf(t, tables, unix.NFPROTO_NETDEV, "owners4")))
	assert.Equal(t, others, keys(elementsOf(t, tables, unix.NFPROTO_NETDEV, "owners6")))
	assert.Equal(t, others, keys(elementsOf(t, tables, unix.NFPROTO_IPV4, "owners")))
	seconds := elementsOf(t, tables, unix.NFPROTO_IPV4, "seconds")
	require.Len(t, seconds, 12)
	assert.Equal(t, []string{"to-10.1.0.6", "to-10.1.0.6-owner", "to-10.1.0.7-owner"}, []string{seconds[0].To, seconds[1].To, seconds[2].To})
}

func TestRenderWithoutIngress(t *testing.T) {
	tables := three(2).render(Abilities{})
	assert.Equal(t, []byte{unix.NFPROTO_IPV4, unix.NFPROTO_IPV6}, []byte{tables[0].Family, tables[1].Family})
}

func TestRenderOfOneFamily(t *testing.T) {
	c := three(2)
	c.Addresses = c.Addresses[1:]
	tables := c.render(all)
	assert.Equal(t, []byte{unix.NFPROTO_NETDEV, unix.NFPROTO_IPV6}, []byte{tables[0].Family, tables[1].Family})
	c = three(2)
	c.Self = nil
	assert.Empty(t, c.render(all))
}

// TestRenderWithoutAnOwnAddress of a family: this node sends on what it receives, all of it.
func TestRenderWithoutAnOwnAddress(t *testing.T) {
	c := three(2)
	c.Self, c.Members[0].Addresses = c.Self[1:], c.Members[0].Addresses[1:]
	tables := c.render(all)
	require.Len(t, tables, 3)
	assert.Len(t, elementsOf(t, tables, unix.NFPROTO_NETDEV, "owners4"), 12)
	assert.Len(t, elementsOf(t, tables, unix.NFPROTO_NETDEV, "owners6"), 8)
	assert.Len(t, tables[1].Chains, 3, "what is received, whole, in fragments and in errors")
}

// TestRenderOfAMemberWithoutAMAC: its frames are not told from those of clients, so nothing goes to it as it came.
func TestRenderOfAMemberWithoutAMAC(t *testing.T) {
	c := three(2)
	c.Members[1].MAC = nil
	tables := c.render(all)
	assert.Equal(t, slotsOf(2, 5, 8, 11), keys(elementsOf(t, tables, unix.NFPROTO_NETDEV, "owners4")))
	assert.Equal(t, slotsOf(1, 2, 4, 5, 7, 8, 10, 11), keys(elementsOf(t, tables, unix.NFPROTO_IPV4, "owners")))
	assert.Equal(t, []string{string(c.Members[2].MAC)}, keys(elementsOf(t, tables, unix.NFPROTO_NETDEV, "members")))
}

// TestRenderOfAMemberWithoutAnAddress: its slots are those of the others, in that family, and nobody asks it.
func TestRenderOfAMemberWithoutAnAddress(t *testing.T) {
	c := three(2)
	c.Members[1].Addresses = c.Members[1].Addresses[:1]
	tables := c.render(all)
	assert.Len(t, elementsOf(t, tables, unix.NFPROTO_NETDEV, "owners4"), 8)
	assert.Equal(t, slotsOf(2, 4, 5, 8, 10, 11), keys(elementsOf(t, tables, unix.NFPROTO_NETDEV, "owners6")))
	assert.Equal(t, string(netip.MustParseAddr("10.1.0.6").AsSlice()), elementsOf(t, tables, unix.NFPROTO_IPV4, "next")[0].Data)
	assert.Equal(t, string(netip.MustParseAddr("fd01::7").AsSlice()), elementsOf(t, tables, unix.NFPROTO_IPV6, "next")[0].Data)
}

// TestRenderOfWhatEnds: a new connection is no longer translated, neither one that comes in nor one of this node's own.
func TestRenderOfWhatEnds(t *testing.T) {
	rules := func(c Config, name string) (n int) {
		for _, table := range c.render(Abilities{}) {
			for _, chain := range table.Chains {
				if chain.Name == name {
					n += len(chain.Rules)
				}
			}
		}
		return n
	}
	c := three(2)
	assert.Equal(t, []int{8, 8, 2}, []int{rules(c, "translate"), rules(c, "ask"), rules(c, "source")})
	c.Ending = true
	assert.Equal(t, []int{4, 0, 2}, []int{rules(c, "translate"), rules(c, "ask"), rules(c, "source")}, "TCP in its midst alone")
}

// BenchmarkRender is of a member of seven.
func BenchmarkRender(b *testing.B) {
	var members []slots.Member
	c := three(2)
	c.Members = nil
	for i := range byte(slots.Most) {
		a := netip.AddrFrom4([4]byte{10, 1, 0, 5 + i})
		members = append(members, slots.Member{Address: a, Condition: slots.Fit, Weight: 1})
		c.Members = append(c.Members, MemberAt{
			Addresses: []netip.Addr{a, netip.AddrFrom16([16]byte{0xfd, 1, 15: 5 + i})}, MAC: net.HardwareAddr{2, 0, 0, 0, 0, i}, Self: i == 0,
		})
	}
	c.Slots = slots.Make(members, nil)
	b.Run("tables", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c.render(all)
		}
	})
	b.Run("slots", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			slots.Make(members, c.Slots)
		}
	})
}

func TestRenderOfTheSame(t *testing.T) {
	c := three(2)
	other := three(2)
	slices.Reverse(other.Addresses)
	slices.Reverse(other.Ports)
	assert.Equal(t, c.normal().render(all), other.normal().render(all))
}

// bare are tables without the elements of their sets. Where these alone differ no table is made anew.
func bare(tables []table) []table {
	for i := range tables {
		for j := range tables[i].Sets {
			s := &tables[i].Sets[j]
			s.Elements, s.BySlot = nil, bySlot{Value: make([]uint8, len(s.BySlot.Value))}
		}
	}
	return tables
}

func TestRenderOfASlotThatMoves(t *testing.T) {
	before, after := three(2), three(2)
	slotTable := *after.Slots
	slotTable.Owner = slices.Clone(slotTable.Owner)
	slotTable.Owner[1], slotTable.Second = 2, slices.Clone(slotTable.Second)
	slotTable.Second[1] = 1
	after.Slots = &slotTable
	old, new := before.render(all), after.render(all)
	moved := map[string]int{}
	for i := range new {
		for j, s := range new[i].Sets {
			was, is := listed(old[i].Sets[j]), listed(s)
			require.Len(t, is, len(was))
			for k := range is {
				if is[k] != was[k] {
					assert.Equal(t, string(native(1)), is[k].Key)
					moved[s.Name]++
				}
			}
		}
	}
	assert.Equal(t, map[string]int{"owners4": 1, "owners6": 1, "owners": 2, "seconds": 2}, moved)
	assert.Equal(t, bare(old), bare(new))
}

func TestRenderOfMoreThanElements(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"link":   func(c *Config) { c.Index = 3 },
		"port":   func(c *Config) { c.Ports[0].Target = 8443 },
		"self":   func(c *Config) { c.Self[0] = netip.MustParseAddr("10.1.0.55") },
		"seed":   func(c *Config) { c.Seed++ },
		"end":    func(c *Config) { c.Ending = true },
		"member": func(c *Config) { c.Members[2].Addresses[0] = netip.MustParseAddr("10.1.0.8") },
		"MAC":    func(c *Config) { c.Members[2].MAC = net.HardwareAddr{2, 0, 0, 0, 0, 9} },
		"slots":  func(c *Config) { c.Slots = slots.Make(nil, nil) },
	} {
		c := three(2)
		change(&c)
		assert.NotEqual(t, bare(three(2).render(all)), bare(c.render(all)), name)
	}
}

func TestApplyRefusesAWrongConfiguration(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"port 9443: protocol 1, want 6 (TCP) or 17 (UDP)": func(c *Config) { c.Ports[0].Protocol = 1 },
		"port 9443 with target 0, want 1 to 65535":        func(c *Config) { c.Ports[0].Target = 0 },
		"port 9443 of protocol 6: listed twice":           func(c *Config) { c.Ports[1] = c.Ports[0] },
		"12 slots have an owner and 11 a second one":      func(c *Config) { c.Slots.Second = c.Slots.Second[1:] },
		"lifetime 10ms, want a second at least":           func(c *Config) { c.Lifetime = 10 * time.Millisecond },
	} {
		c := three(2)
		change(&c)
		tables, err := Open("api", nil)
		require.NoError(t, err)
		assert.EqualError(t, tables.Apply(c), "spreadtables: "+want)
	}
	_, err := Open("", nil)
	assert.Error(t, err)
}

// TestUnboundAddressesComeInAtOtherLinksToo, as from pods, where this node gets new connections. Nothing is asked of who has the address.
func TestUnboundAddressesComeInAtOtherLinksToo(t *testing.T) {
	rules := func(c Config) int {
		return len(c.translated(c.roster(ipv4()), Abilities{}).Rules)
	}
	bound, unbound := three(2), three(2)
	unbound.Unbound = true
	assert.Equal(t, rules(bound), rules(unbound))
	assert.NotEqual(t, bound.translated(bound.roster(ipv4()), Abilities{}), unbound.translated(unbound.roster(ipv4()), Abilities{}))
	unbound.Slots.Owner = []uint8{1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2}
	assert.Equal(t, len(unbound.Ports), rules(unbound), "others get them: they go by the network")
	unbound.Slots.Owner = slices.Repeat([]uint8{slots.None}, 12)
	assert.Equal(t, 2*len(unbound.Ports), rules(unbound), "nobody else does")
}

// TestConnectionsFromOtherLinksOfANodeThatNeverHoldsTheAddress are its own while it gets new ones.
func TestConnectionsFromOtherLinksOfANodeThatNeverHoldsTheAddress(t *testing.T) {
	rules := func(c Config) int {
		return len(c.translated(c.roster(ipv4()), Abilities{}).Rules)
	}
	may, never := three(2), three(2)
	never.NeverHolds = true
	assert.Equal(t, rules(may)+len(never.Ports), rules(never))
	never.Slots.Owner = []uint8{1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2}
	assert.Equal(t, rules(may), rules(never), "others get them: they go by the network")
	never = three(2)
	never.NeverHolds, never.Ending, may.Ending = true, true, true
	assert.Equal(t, rules(may), rules(never), "nothing begins")
}
