//go:build netns

package fence

import (
	"net/netip"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/nftables"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFenceCheckAndRebuild(t *testing.T) {
	onAnOlderKernel(t)
	w := newWire(t)
	f := w.fence(60*time.Second, 120*time.Second)
	require.ErrorContains(t, f.hold(4, 7), "group 7 is not set")
	require.NoError(t, f.hold(4, 6))
	w.advertiseBoth()
	require.NoError(t, f.verify())
	damage := map[string]func(c *nftables.Conn){
		"ruleset flushed": func(c *nftables.Conn) { c.FlushRuleset() },
		"table deleted":   func(c *nftables.Conn) { c.DelTable(f.kernel.tables.link.table) },
		"rules flushed":   func(c *nftables.Conn) { c.FlushChain(f.kernel.tables.link.chain(chainIngress)) },
		"group flushed":   func(c *nftables.Conn) { c.FlushChain(f.kernel.tables.link.chain(chainOf(6))) },
		"adverts flushed": func(c *nftables.Conn) { c.FlushChain(f.kernel.tables.link.chain(chainAdverts)) },
		"guard flushed":   func(c *nftables.Conn) { c.FlushSet(f.kernel.tables.link.timer(guardOf(4))) },
		"addresses gone":  func(c *nftables.Conn) { c.FlushSet(f.kernel.tables.link.addresses(mapAddresses6)) },
		"ARP deleted":     func(c *nftables.Conn) { c.DelTable(f.kernel.tables.arp.table) },
		"ARP guard gone":  func(c *nftables.Conn) { c.FlushSet(f.kernel.tables.arp.guard(4)) },
	}
	for name, do := range damage {
		c, err := nftables.New()
		require.NoError(t, err)
		do(c)
		require.NoError(t, c.Flush())
		require.ErrorIs(t, f.verify(), errBroken, name)
		if name == "table deleted" {
			require.ErrorIs(t, f.hold(4), errBroken)
			require.ErrorIs(t, f.set(nil), errBroken)
			require.NoError(t, f.remove())
		}
		minute := time.Now().Add(time.Minute)
		require.NoError(t, f.rebuild(map[uint32]time.Time{4: minute, 6: minute}), name)
		require.NoError(t, f.verify(), name)
	}
	w.all(true, "rebuilt, with a lease")
	require.NoError(t, f.rebuild(map[uint32]time.Time{4: time.Now().Add(time.Minute), 6: time.Now()}))
	assert.True(t, w.does(w.answers, vip4))
	assert.False(t, w.answers(vip6), "its lease was over")
	require.NoError(t, f.shut(4, inward))
	assert.False(t, w.answers(vip4))

	w.holder.IP("link set eth0 down")
	w.holder.IP("link set eth0 name lan0")
	w.holder.IP("link set lan0 up")
	require.ErrorIs(t, f.verify(), errBroken)
	require.NoError(t, f.rebuild(map[uint32]time.Time{4: time.Now().Add(time.Minute)}))
	require.NoError(t, f.verify())
	assert.False(t, w.answers(vip4), "what was shut stays shut")
	require.NoError(t, f.reopen(4))
	assert.True(t, w.does(w.answers, vip4))
	w.holder.IP("link del lan0")
	require.ErrorIs(t, f.verify(), errGone)
	require.ErrorIs(t, f.rebuild(nil), errGone)
}

// A look costs one short question as long as nobody else has changed anything: a fence counts its own renewals.
func TestFenceCountsItsOwnRenewals(t *testing.T) {
	onAnOlderKernel(t)
	w := newWire(t)
	f := w.fence(60*time.Second, 120*time.Second)
	require.NoError(t, f.verify())
	change := func() {
		require.NoError(t, f.hold(4))
		for range 3 {
			require.NoError(t, f.renew(6, time.Now().Add(time.Minute)))
		}
	}
	change()
	require.Equal(t, uint32(3), f.kernel.generations.own)
	now, err := f.kernel.socket.Generation()
	require.NoError(t, err)
	assert.Equal(t, now, f.kernel.generations.sound+f.kernel.generations.own, "each is one")
	require.NoError(t, f.verify())

	c, err := nftables.New()
	require.NoError(t, err)
	c.FlushChain(f.kernel.tables.link.chain(chainAdverts))
	require.NoError(t, c.Flush())
	change()
	require.ErrorIs(t, f.verify(), errBroken, "between two of its own")
	require.NoError(t, f.rebuild(nil))
	change()
	require.NoError(t, f.verify())
}

// listing is what administrators see of the tables.
func listing(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("nft", "list", "ruleset").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return regexp.MustCompile(` expires [0-9a-z]+`).ReplaceAllString(string(out), "")
}

// TestFenceIsReadableByOthers: administrators list the rules, and save and load the listing. Some rules that the kernel takes make nft abort.
func TestFenceIsReadableByOthers(t *testing.T) {
	onAnOlderKernel(t) // nobody else can load a table that is owned
	w := newWire(t)
	f := w.fence(60*time.Second, 120*time.Second)
	list := func() string { return listing(t) }
	require.NoError(t, f.hold(4))
	require.NoError(t, f.shut(6, discovery|inward|outward))
	w.advertiseBoth()
	both := list()
	t.Log(both)
	assert.Contains(t, both, "10.1.0.100 : jump group4")
	assert.Contains(t, both, "fd01::100 : jump group6")

	// nft before 1.0.7 cannot read back what it prints for the target of a solicitation.
	require.NoError(t, f.set([]Group{{ID: 4, Addresses: []netip.Addr{vip4}, Advert: Advert{Source: w.own4, VRID: 51}, Lease: time.Minute, Guard: time.Hour}}))
	require.NoError(t, f.shut(4, discovery|inward|outward))
	before := list()
	require.NoError(t, f.remove())
	load := exec.Command("nft", "-f", "-")
	load.Stdin = strings.NewReader(before)
	out, err := load.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, before, list())
}

func TestCleanupLeavesOthersAlone(t *testing.T) {
	w := newWire(t)
	for range 2 {
		f, err := open(w.index, "eth0", 0, nil)
		require.NoError(t, err, "in place of the one of an earlier run")
		require.NoError(t, f.verify())
		f.dies()
	}
	c, err := nftables.New()
	require.NoError(t, err)
	for _, foreign := range []*nftables.Table{
		{Name: "keepvip-x", Family: nftables.TableFamilyNetdev},
		{Name: "keepvip-2x", Family: nftables.TableFamilyNetdev},
		{Name: tableName(w.index), Family: nftables.TableFamilyINet},
		{Name: "filter", Family: nftables.TableFamilyNetdev},
		{Name: "filter", Family: nftables.TableFamilyARP},
	} {
		c.AddTable(foreign)
	}
	require.NoError(t, c.Flush())
	gone, err := CleanupExcept(func(index int) bool { return index == w.index })
	require.NoError(t, err)
	assert.Empty(t, gone, "the only fence is of a link that is used")
	gone, err = Cleanup()
	require.NoError(t, err)
	assert.Equal(t, []string{"netdev " + tableName(w.index), "arp " + tableName(w.index)}, gone)
	tables, err := c.ListTables()
	require.NoError(t, err)
	assert.Len(t, tables, 5)
	gone, err = Cleanup()
	require.NoError(t, err)
	assert.Empty(t, gone)
}

// TestOpenTakesOverFromADeadRun: the address that a killed daemon has left stays silent through the start of the next.
func TestOpenTakesOverFromADeadRun(t *testing.T) {
	w := newWire(t)
	f := w.fence(long, 2*long)
	require.NoError(t, f.hold(4, 6))
	w.all(false, "the run before, dead")
	groups := []Group{f.want.groups[4], f.want.groups[6]}
	done, heard := make(chan struct{}), make(chan bool, 1)
	go func() {
		defer close(heard)
		for {
			select {
			case <-done:
				return
			default:
				if w.ping(vip4, 2*time.Millisecond) {
					heard <- true
					return
				}
			}
		}
	}()
	w.knows(vip4)
	f.dies()
	for range 10 {
		next, err := open(w.index, "eth0", 0, groups, 4, 6)
		require.NoError(t, err)
		require.NoError(t, next.verify())
		next.dies()
	}
	close(done)
	assert.False(t, <-heard, "an answer in between")
	w.all(false, "the next run, without a lease")
	w.advertiseBoth()
	w.all(true, "the next run, Active")
	_, err := open(w.index, "", 0, groups, 5)
	assert.ErrorContains(t, err, "group 5")
}

// TestFenceSetKeepsTenures changes the groups around one that is held.
func TestFenceSetKeepsTenures(t *testing.T) {
	w := newWire(t)
	f := w.fence(60*time.Second, 120*time.Second)
	require.NoError(t, f.hold(4))
	w.advertise(w.own4, 51, 100)
	assert.True(t, w.does(w.answers, vip4))
	other := Group{ID: 9, Addresses: []netip.Addr{netip.MustParseAddr("10.1.0.101")}, Lease: time.Second, Guard: time.Minute}
	four := f.want.groups[4]
	for name, groups := range map[string][]Group{"another beside it": {four, f.want.groups[6], other}, "less beside it": {four}, "alone with more addresses": {func() Group {
		g := four
		g.Addresses = append(slices.Clone(g.Addresses), netip.MustParseAddr("10.1.0.102"))
		return g
	}()}} {
		require.NoError(t, f.set(groups), name)
		require.NoError(t, f.verify(), name)
		assert.True(t, w.does(w.answers, vip4), name)
	}
	require.NoError(t, f.shut(4, inward))
	require.NoError(t, f.set([]Group{four, other}))
	assert.False(t, w.answers(vip4), "what is shut stays shut")
	require.NoError(t, f.set([]Group{other}))
	require.NoError(t, f.verify())
	assert.True(t, w.does(w.answers, vip4), "no fence for what is in no group")
	assert.ErrorContains(t, f.hold(4), "group 4 is not set")
	require.NoError(t, f.set([]Group{other, four}, 4, 9))
	require.NoError(t, f.verify())
	assert.False(t, w.answers(vip4), "a new group that is bound is held, and has no lease")
	w.advertise(w.own4, 51, 100)
	assert.True(t, w.does(w.answers, vip4))
	require.NoError(t, f.set(nil))
	require.NoError(t, f.verify())
}

// A holder whose addresses or interval change, and that is killed in that moment, falls silent as any other.
func TestFenceSetKeepsTheGuard(t *testing.T) {
	w := newWire(t)
	f := w.fence(60*time.Second, 120*time.Second)
	left := func() time.Duration {
		c, err := f.kernel.socket.lists()
		require.NoError(t, err)
		got, err := c.GetSetElements(f.kernel.tables.link.timer(guardOf(4)))
		require.NoError(t, err)
		require.Len(t, got, 1, "the guard")
		return got[0].Expires
	}
	four := f.want.groups[4]
	set := func(change func(*Group)) {
		change(&four)
		require.NoError(t, f.set([]Group{four}))
		require.NoError(t, f.verify())
		require.NoError(t, f.guarded(4))
	}
	require.Error(t, f.guarded(4), "not held yet")
	require.NoError(t, f.hold(4))
	w.advertise(w.own4, 51, 100)
	set(func(g *Group) { g.Guard = time.Hour })
	assert.Greater(t, left(), 59*time.Minute, "the addresses may live longer from now on")
	set(func(g *Group) { g.Guard = 3 * time.Minute })
	assert.Greater(t, left(), 59*time.Minute, "those that are there live on")
	require.NoError(t, f.hold(4))
	assert.Less(t, left(), 4*time.Minute)
	set(func(g *Group) { g.Lease = 100 * time.Millisecond })
	assert.True(t, w.does(w.answers, vip4), "the lease that has begun goes on")
	require.NoError(t, f.shut(4, discovery))
	set(func(g *Group) { g.Addresses = append(g.Addresses, netip.MustParseAddr("10.1.0.103")) })
	assert.False(t, w.resolves(vip4), "what is shut stays shut")
	assert.True(t, w.does(w.answers, vip4))
	w.advertise(w.own4, 51, 100)
	w.holder.Eventually(func() bool { return !w.answers(vip4) }, "it falls silent without a further advertisement")

	require.NoError(t, f.release(4))
	require.ErrorIs(t, f.guarded(4), errBroken)
	f.want.guards[4] = time.Now()
	require.ErrorIs(t, f.guarded(4), errBroken, "it has ended")
}

// TestFenceOfManyAddresses shows what changes cost with a thousand addresses.
func TestFenceOfManyAddresses(t *testing.T) {
	w := newWire(t)
	f := w.fence(60*time.Second, 120*time.Second)
	g4 := Group{ID: 4, Advert: Advert{Source: w.own4, VRID: 51}, Lease: time.Minute, Guard: time.Hour}
	g6 := Group{ID: 6, Advert: Advert{Source: w.own6, VRID: 51}, Lease: time.Minute, Guard: time.Hour}
	for i := range 1000 {
		g4.Addresses = append(g4.Addresses, netip.AddrFrom4([4]byte{10, 2, byte(i >> 8), byte(i)}))
		g6.Addresses = append(g6.Addresses, netip.AddrFrom16([16]byte{0: 0xfd, 1: 2, 14: byte(i >> 8), 15: byte(i)}))
	}
	timed := func(what string, do func() error) {
		start := time.Now()
		require.NoError(t, do(), what)
		t.Logf("%s: %s", what, time.Since(start))
	}
	timed("Set, 2 groups of 1000", func() error { return f.set([]Group{g4, g6}) })
	timed("Hold", func() error { return f.hold(4) })
	timed("Hold again", func() error { return f.hold(4) })
	timed("Renew", func() error { return f.renew(6, time.Now().Add(time.Minute)) })
	timed("Renew again", func() error { return f.renew(6, time.Now().Add(time.Minute)) })
	timed("Check, all of it", func() error { f.kernel.generations.sound = 0; return f.verify() })
	timed("Check, nothing changed", f.verify)
	timed("Rebuild", func() error { return f.rebuild(nil) })
	timed("Release", func() error { return f.release(4) })
}

// All 255 virtual routers of a link are in one table, which one transaction makes anew.
func TestFenceOfManyGroups(t *testing.T) {
	w := newWire(t)
	f := w.fence(300*time.Millisecond, 60*time.Second)
	var groups []Group
	var ids []uint32
	for n := range uint32(255) {
		groups = append(groups, Group{
			ID: n + 1, Addresses: []netip.Addr{netip.AddrFrom4([4]byte{10, 2, 0, byte(n + 1)})}, Advert: Advert{Source: w.own4, VRID: byte(n + 1)},
			Lease: 300 * time.Millisecond, Guard: time.Minute,
		})
		ids = append(ids, n+1)
	}
	require.NoError(t, f.set(groups))
	require.NoError(t, f.hold(ids...))
	require.NoError(t, f.rebuild(nil))
	require.NoError(t, f.verify())
}

// The kernel finds a set by going through those of the table, and is asked for each group's lease again and again.
func TestFenceLeasesComeBeforeTheOtherSets(t *testing.T) {
	w := newWire(t)
	f := w.fence(time.Second, time.Minute)
	groups := sorted(f.want.groups)
	ours := func(names []string) (leases int) {
		for _, n := range names {
			if !strings.HasPrefix(n, "lease") {
				return leases
			}
			leases++
		}
		return leases
	}
	names := func() (names []string) {
		c, err := nftables.New()
		require.NoError(t, err)
		sets, err := c.GetSets(f.kernel.tables.link.table)
		require.NoError(t, err)
		for _, s := range sets {
			names = append(names, s.Name)
		}
		return names
	}
	before := names()
	assert.Equal(t, len(groups), ours(before[len(groupMaps)+1:]), "after what the table had before it had any group")
	more := slices.Clone(groups)
	for id := range uint32(5) {
		more = append(more, Group{ID: 100 + id, Addresses: []netip.Addr{netip.AddrFrom4([4]byte{10, 9, 9, byte(id)})}, Lease: time.Second, Guard: time.Minute})
	}
	require.NoError(t, f.set(more))
	assert.Equal(t, 5, ours(names()[len(before):]), "of groups that come later")
	require.NoError(t, f.verify())
	require.NoError(t, f.rebuild(nil))
	assert.Equal(t, len(more), ours(names()), "made anew")
}
