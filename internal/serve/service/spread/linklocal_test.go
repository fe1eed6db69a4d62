package spread

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/kernel/spreadtables"
)

// linkLocal is where a node speaks from whose election IPv6 carries, and global is where it serves.
func linkLocal(n byte) netip.Addr { return netip.MustParseAddr(fmt.Sprintf("fe80::%d", n)) }
func global(n byte) netip.Addr    { return netip.MustParseAddr(fmt.Sprintf("fd77::%d", n)) }

// byIPv6 is a bench of node 11 that speaks IPv6, and two members; the second one has no address but its link-local one.
func byIPv6(b *bench, own ...netip.Addr) {
	b.host.own = own
	b.elector.remove(addr(11))
	b.elector.set(election.Member{Address: linkLocal(11), Self: true, Node: "n1"})
	for n := byte(12); n <= 13; n++ {
		b.host.set(linkLocal(n), true)
		b.host.set(global(n), true)
		s := said(true)
		s.MAC[5] = n
		if n == 12 {
			s.Serves = global(n)
		}
		b.elector.set(election.Member{Address: linkLocal(n), Node: "n" + string('0'+n-10), Spread: s, Fit: new(true)})
	}
	b.beginAt(linkLocal(11).WithZone("eth0"))
}

// addressesOf are those of the members in the kernel.
func addressesOf(cfg spreadtables.Config) (out [][]netip.Addr) {
	for _, m := range cfg.Members {
		out = append(out, m.Addresses)
	}
	return out
}

// Members are known by their link-local addresses, in whose order they are. Connections go to where they serve, and followers are told of that.
func TestServiceSendsConnectionsToWhereMembersServe(t *testing.T) {
	cfg, f := spreadOne(), &fakeFollowers{wanted: true}
	cfg.Addresses, cfg.followers = hosts(global(100)), f
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		byIPv6(b, global(11))
		time.Sleep(settle + tick)
		assert.Equal(t, [][]netip.Addr{{global(11)}, {global(12)}, {linkLocal(13)}}, addressesOf(b.host.plane("api").cfg))
		assert.Equal(t, map[string]int{"fe80::11 fit": 40, "fe80::12 fit": 40, "fe80::13 fit": 40}, b.shares())
		assert.Equal(t, global(11), b.elector.own().Serves)
		_, _, told := f.look()
		require.Len(t, told.Members, 3)
		for i, want := range []netip.Addr{global(11), global(12), linkLocal(13)} {
			assert.Equal(t, want, told.Members[i].Address)
			assert.Equal(t, i == 0, told.Members[i].Self)
		}

		b.host.set(linkLocal(12), false)
		b.elector.silence(linkLocal(12))
		time.Sleep(450 * time.Millisecond)
		assert.Equal(t, [][]netip.Addr{{global(12)}}, b.host.plane("api").endedOwn)
	})
}

// A node whose only address is link-local says nothing of another one.
func TestServiceWithALinkLocalAddressAloneServesThere(t *testing.T) {
	cfg := spreadOne()
	cfg.Addresses = hosts(global(100))
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		byIPv6(b, linkLocal(11))
		time.Sleep(settle + tick)
		assert.Zero(t, b.elector.own().Serves)
		assert.Equal(t, []netip.Addr{linkLocal(11)}, b.host.plane("api").cfg.Members[0].Addresses)
	})
}

// A list has addresses that hosts on other links can use, too.
func TestServiceKnowsMembersByTheListedAddress(t *testing.T) {
	cfg := spreadOne()
	cfg.Addresses, cfg.Spread.Members = hosts(global(100)), []netip.Addr{global(12), global(11), linkLocal(13)}
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		byIPv6(b, global(11))
		time.Sleep(settle + tick)
		assert.Empty(t, b.service.Status().Spread.Problem)
		assert.Equal(t, [][]netip.Addr{{global(12)}, {global(11)}, {linkLocal(13)}}, addressesOf(b.host.plane("api").cfg))
		assert.Equal(t, map[string]int{"fd77::11 fit": 40, "fd77::12 fit": 40, "fe80::13 fit": 40}, b.shares())
		assert.Equal(t, global(11), b.elector.own().Serves, "the others know the node by another address until they have the list")
	})
}

func TestServiceNamesTheAddressThatTheListLacks(t *testing.T) {
	cfg := spreadOne()
	cfg.Addresses, cfg.Spread.Members = hosts(global(100)), []netip.Addr{global(12)}
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		byIPv6(b, global(11))
		time.Sleep(settle + tick)
		assert.Equal(t, "fd77::11, the own address on eth0, is not among spread.members: add it there, on all nodes", b.service.Status().Spread.Problem)
	})
}

// Without a key anybody on the link can say that he serves where another member does. Followers refuse a list that has an address twice.
func TestReportHasEachAddressOnce(t *testing.T) {
	cfg, f := spreadOne(), &fakeFollowers{wanted: true}
	cfg.Addresses, cfg.followers = hosts(global(100)), f
	for name, taken := range map[string]byte{"of this node": 11, "of another member": 12} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, cfg, func(t *testing.T, b *bench) {
				byIPv6(b, global(11))
				s := said(true)
				s.Serves = global(taken)
				b.elector.set(election.Member{Address: linkLocal(10), Node: "first", Spread: s, Fit: new(true)})
				b.elector.set(election.Member{Address: linkLocal(14), Node: "last", Spread: s, Fit: new(true)})
				time.Sleep(settle + tick)
				_, _, told := f.look()
				seen := map[netip.Addr]string{}
				for _, m := range told.Members {
					assert.Empty(t, seen[m.Address], m.Address)
					seen[m.Address] = m.Node
				}
				assert.Equal(t, "n1", seen[global(11)])
				assert.Len(t, seen, 3)
			})
		})
	}
}
