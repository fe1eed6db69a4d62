//go:build netns

package intercept

import (
	"flag"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/netnstest"
	"github.com/keepvip/keepvip/internal/kernel/link"
	"github.com/keepvip/keepvip/internal/kernel/localconn"
	"github.com/keepvip/keepvip/internal/kernel/nfttables"
)

var update = flag.Bool("update", false, "write the golden files anew")

func nft(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("nft", args...).CombinedOutput()
	require.NoError(t, err, "nft %s: %s", args, out)
	return string(out)
}

// TestTablesAreListedByNft compares with what nft makes of what the kernel has.
func TestTablesAreListedByNft(t *testing.T) {
	onAnOlderKernel(t) // the rest is the same where tables are owned
	s := netnstest.New(t)
	s.Pair("eth0", s, "eth1")
	table, err := Open("api", nil)
	require.NoError(t, err)
	table.start = 0
	c := three()
	c.Incoming = true
	c.Targets[0].Backends[0].Weight = 2
	c.Targets = append(c.Targets, Target{netip.MustParseAddr("10.1.0.100"), unix.IPPROTO_UDP, 53, c.Targets[0].Backends[1:]})
	require.NoError(t, table.Apply(c))
	for _, family := range []string{"ip", "ip6"} {
		golden, got := filepath.Join("testdata", family+".nft"), nft(t, "-s", "list", "table", family, "keepvip-intercept-api")
		if *update {
			require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		assert.Equal(t, string(want), got)
	}
}

// TestConnectionsAreEven goes on with the turns over a change of backends, and back.
func TestConnectionsAreEven(t *testing.T) {
	l := newLab(t)
	for name, vip := range both {
		l.only(0, 1, 2)
		assert.Equal(t, [4]int{100, 100, 100, 0}, l.served(300, vip), name)
		l.only(0, 2)
		assert.Equal(t, [4]int{30, 0, 30, 0}, l.served(60, vip), name)
		l.only(0, 1, 2)
		assert.Equal(t, [4]int{20, 20, 20, 0}, l.served(60, vip), name)
		l.cfg.Targets[0].Backends[1].Weight, l.cfg.Targets[1].Backends[1].Weight = 4, 4
		l.apply()
		assert.Equal(t, [4]int{10, 40, 10, 0}, l.served(60, vip), name)
	}
}

// TestConnectionsLiveOn whatever becomes of their backend, of the target, and of the table's lifetime: also those that were made without it.
func TestConnectionsLiveOn(t *testing.T) {
	l := newLab(t)
	var open []*conn
	goOn := func(what string) {
		for _, c := range open {
			c.goesOn(what)
		}
	}
	for _, vip := range both {
		c := l.dial(l.host, vip)
		require.Equal(t, holder, c.server)
		open = append(open, c)
	}
	l.apply()
	goOn("the first Apply, where nothing tracked connections before")
	for _, vip := range both {
		for range 3 {
			open = append(open, l.dial(l.host, vip))
		}
	}
	for _, change := range []struct {
		name string
		do   func()
	}{
		{"fewer", func() { l.only(1) }},
		{"none", func() { l.only() }},
		{"all", func() { l.only(0, 1, 2) }},
		{"renewed", func() { require.NoError(t, l.table.Renew(time.Minute)) }},
		{"another hook", func() { l.cfg.Incoming = true; l.apply() }},
		{"a restart", func() {
			l.table.Leave()
			var err error
			l.table, err = Open("api", nil)
			require.NoError(t, err)
			l.apply()
		}},
		{"over", func() {
			require.NoError(t, l.table.Renew(time.Second))
			l.host.Eventually(func() bool { return l.dial(l.host, both["IPv4"]).server == holder }, "the lifetime ends")
		}},
	} {
		l.host.In(change.do)
		goOn(change.name)
	}
}

// TestFallsThroughToTheNetwork with no backend, without a table, and after the lifetime, which is what is left of a process that was killed.
func TestFallsThroughToTheNetwork(t *testing.T) {
	l := newLab(t)
	for name, vip := range both {
		l.only(1)
		require.Equal(t, 1, l.dial(l.host, vip).server, name)
		l.only()
		assert.Equal(t, holder, l.dial(l.host, vip).server, "%s: no backend", name)
		l.only(1)
		l.host.In(func() { require.NoError(t, l.table.Close()) })
		assert.Equal(t, holder, l.dial(l.host, vip).server, "%s: closed", name)
		l.cfg.Lifetime = time.Second
		began := time.Now()
		l.apply()
		l.host.Eventually(func() bool { return l.served(1, vip)[holder] == 1 }, "the lifetime ends")
		assert.Greater(t, time.Since(began), 500*time.Millisecond, "%s: backends are chosen until then", name)
		l.host.In(func() { require.NoError(t, l.table.Renew(time.Minute)) })
		assert.Equal(t, 1, l.dial(l.host, vip).server, "%s: a process that was frozen goes on", name)
	}
}

// TestOthersAreLeftAlone: another port of the address, and clients of other hosts.
func TestOthersAreLeftAlone(t *testing.T) {
	l := newLab(t)
	l.only(1)
	l.host.In(func() {
		c, err := net.Dial("tcp", "10.1.0.100:6443")
		require.NoError(t, err)
		defer func() { _ = c.Close() }()
		var server int
		_, err = fmt.Fscanf(c, "%d", &server)
		require.NoError(t, err)
		assert.Equal(t, holder, server)
	})
	assert.Equal(t, holder, l.dial(l.servers[0], both["IPv4"]).server)
}

// TestIncoming connects from a namespace behind the host, which routes: only by option.
func TestIncoming(t *testing.T) {
	l := newLab(t)
	pod := netnstest.New(t)
	pod.Sysctl("net/ipv6/conf/default/accept_dad", "0")
	l.host.Enter()
	l.host.Sysctl("net/ipv4/ip_forward", "1")
	l.host.Sysctl("net/ipv6/conf/all/forwarding", "1")
	l.host.Pair("veth1", pod, "eth0")
	l.host.Has("veth1", "10.2.0.1/24", "fd02::1/64")
	pod.Has("eth0", "10.2.0.2/24", "fd02::2/64")
	pod.In(func() {
		pod.IP("route add default via 10.2.0.1")
		pod.IP("route add default via fd02::1")
	})
	for _, s := range l.servers {
		s.In(func() {
			s.IP("route add 10.2.0.0/24 via 10.1.0.9")
			s.IP("route add fd02::/64 via fd01::9")
		})
	}
	l.only(1)
	for name, vip := range both {
		assert.Equal(t, holder, l.dial(pod, vip).server, name)
	}
	l.cfg.Incoming = true
	l.apply()
	var open []chan error
	for name, vip := range both {
		c := l.dial(pod, vip)
		assert.Equal(t, 1, c.server, name)
		assert.Equal(t, 1, l.dial(l.host, vip).server, name)
	}
	for _, vip := range both {
		c := l.dial(pod, vip)
		l.dies(1)
		open = append(open, c.reads())
		l.cfg.Targets[0].Backends, l.cfg.Targets[1].Backends = nil, nil
		l.apply()
		var ended localconn.Ended
		l.host.In(func() {
			var err error
			ended, err = l.table.Destroy(netip.MustParseAddr("10.1.0.6"), netip.MustParseAddr("fd01::6"))
			require.NoError(t, err)
		})
		assert.Positive(t, ended.Entries, "what a pod has is not at hand")
		_, _ = c.Write([]byte("x"))
		select {
		case err := <-open[len(open)-1]:
			assert.ErrorIs(t, err, unix.ECONNRESET)
		case <-time.After(netnstest.Patience):
			assert.Fail(t, "what it sends next is answered by a reset")
		}
		require.NoError(t, l.wires.LinkSetUp(l.wires.Link("s1")))
		l.cfg.Targets = three().Targets
		for i := range l.cfg.Targets {
			l.cfg.Targets[i].Backends = l.cfg.Targets[i].Backends[1:2]
		}
		l.apply()
	}
}

// TestDatagrams are translated by flow.
func TestDatagrams(t *testing.T) {
	l := newLab(t)
	for i := range l.cfg.Targets {
		l.cfg.Targets[i].Protocol = unix.IPPROTO_UDP
	}
	l.apply()
	got := map[byte]int{}
	l.host.Enter()
	for range 30 {
		c, err := net.Dial("udp", "10.1.0.100:9443")
		require.NoError(t, err)
		defer c.Close() // at the end: a port that is used again belongs to the flow before
		for range 2 {
			_, err = c.Write([]byte("x"))
			require.NoError(t, err)
			require.NoError(t, c.SetDeadline(time.Now().Add(netnstest.Patience)))
			b := make([]byte, 1)
			_, err = c.Read(b)
			require.NoError(t, err)
			got[b[0]]++
		}
	}
	assert.Equal(t, map[byte]int{'0': 20, '1': 20, '2': 20}, got)
	ended, err := l.table.Destroy(netip.MustParseAddr("10.1.0.5"))
	require.NoError(t, err)
	assert.Equal(t, localconn.Ended{Entries: 10}, ended)
}

// TestDestroyWakesWhoReads has a server die silently, with clients that wait for it.
func TestDestroyWakesWhoReads(t *testing.T) {
	l := newLab(t)
	l.only(0, 1)
	type waiting struct {
		*conn
		result chan error
	}
	var all []waiting
	for _, vip := range both {
		for range 4 {
			c := l.dial(l.host, vip)
			all = append(all, waiting{c, c.reads()})
		}
	}
	counted := func() (counts map[netip.Addr]int) {
		l.host.In(func() {
			var err error
			counts, err = l.table.Connections()
			require.NoError(t, err)
		})
		return counts
	}
	two := map[netip.Addr]int{}
	for _, a := range []string{"10.1.0.5", "fd01::5", "10.1.0.6", "fd01::6"} {
		two[netip.MustParseAddr(a)] = 2
	}
	assert.Equal(t, two, counted())
	l.dies(0)
	l.only(1, 2)
	began := time.Now()
	var ended localconn.Ended
	l.host.In(func() {
		var err error
		ended, err = l.table.Destroy(netip.MustParseAddr("10.1.0.5"), netip.MustParseAddr("fd01::5"))
		require.NoError(t, err)
	})
	assert.Equal(t, localconn.Ended{Sockets: 4}, ended)
	var last time.Duration
	for _, c := range all {
		if c.server != 0 {
			continue
		}
		select {
		case err := <-c.result:
			assert.ErrorIs(t, err, unix.ECONNABORTED)
			last = max(last, c.ended.Sub(began))
		case <-time.After(netnstest.Patience):
			require.Fail(t, "a client still waits")
		}
	}
	t.Logf("all knew after %s", last)
	for _, c := range all {
		if c.server != 0 {
			_, err := c.Write([]byte("x"))
			require.NoError(t, err)
			assert.NoError(t, <-c.result, "what another server has goes on")
		}
	}
	l.host.In(func() {
		again, err := l.table.Destroy(netip.MustParseAddr("10.1.0.5"), netip.MustParseAddr("fd01::5"))
		require.NoError(t, err)
		assert.Zero(t, again)
	})
}

// TestForgetLetsAPortBeUsedAgain has a server reset a connection, as the death of its process does: the next one from the client's port is a new one.
func TestForgetLetsAPortBeUsedAgain(t *testing.T) {
	l := newLab(t)
	for name, vip := range both {
		l.only(0)
		first := l.dial(l.host, vip)
		require.Zero(t, first.server)
		own := first.LocalAddr().(*net.TCPAddr).AddrPort()
		server := netip.AddrPortFrom(map[bool]netip.Addr{true: netip.MustParseAddr("10.1.0.5"), false: netip.MustParseAddr("fd01::5")}[vip.Is4()], target)
		l.servers[0].In(func() {
			reset, err := link.DestroyTCP([]link.Connection{{Local: server, Remote: own}})
			require.NoError(t, err)
			require.Len(t, reset, 1)
		})
		require.ErrorIs(t, <-first.reads(), unix.ECONNRESET)
		require.NoError(t, first.Close())
		l.only(1)
		l.host.In(func() { require.NoError(t, l.table.Forget(server)) })
		var next net.Conn
		l.host.In(func() {
			var err error
			next, err = (&net.Dialer{Timeout: netnstest.Patience, LocalAddr: net.TCPAddrFromAddrPort(own)}).Dial("tcp", netip.AddrPortFrom(vip, front).String())
			require.NoError(t, err)
		})
		who := -1
		_, err := fmt.Fscanf(next, "%d", &who)
		require.NoError(t, err)
		assert.Equal(t, 1, who, name)
		require.NoError(t, next.Close())
	}
}

// TestDestroyOfWhatIsNotAnswered sends the next SYN elsewhere: the client waits a second, and knows of nothing.
func TestDestroyOfWhatIsNotAnswered(t *testing.T) {
	l := newLab(t)
	l.only(0)
	for _, vip := range both {
		l.dial(l.host, vip) // so that the neighbour is known, and no frame waits for it
	}
	l.dies(0)
	for name, vip := range both {
		l.only(0)
		connected := make(chan int, 1)
		go l.connect(vip, connected)
		begun := false
		l.host.Eventually(func() bool {
			l.host.In(func() {
				ended, err := l.table.Destroy(netip.MustParseAddr("10.1.0.5"), netip.MustParseAddr("fd01::5"))
				require.NoError(t, err)
				begun = begun || ended.Entries > 0
			})
			return begun
		}, "the SYN is tracked")
		l.only(1)
		l.host.Eventually(func() bool {
			l.host.In(func() {
				_, err := l.table.Destroy(netip.MustParseAddr("10.1.0.5"), netip.MustParseAddr("fd01::5"))
				require.NoError(t, err)
			})
			return len(connected) > 0
		}, "it goes on by itself")
		assert.Equal(t, 1, <-connected, name)
	}
}

// TestWhatSomebodyHasDeleted is made anew.
func TestWhatSomebodyHasDeleted(t *testing.T) {
	onAnOlderKernel(t)
	l := newLab(t)
	l.only(1)
	l.host.Enter()
	for _, command := range []string{"flush ruleset", "delete table ip keepvip-intercept-api", "flush table ip6 keepvip-intercept-api; delete table ip6 keepvip-intercept-api"} {
		nft(t, command)
		require.NoError(t, l.table.Renew(time.Minute))
		for name, vip := range both {
			assert.Equal(t, 1, l.dial(l.host, vip).server, "%s: %s, renewed", name, command)
		}
		nft(t, command)
		l.only(2)
		for name, vip := range both {
			assert.Equal(t, 2, l.dial(l.host, vip).server, "%s: %s, applied", name, command)
		}
		l.only(1)
	}
}

// TestApplyOfTheSameChangesNothing, as the number of the last change of any table says.
func TestApplyOfTheSameChangesNothing(t *testing.T) {
	l := newLab(t)
	l.apply()
	l.host.Enter()
	before := nft(t, "-n", "list", "ruleset")
	same := three()
	for i := range same.Targets {
		same.Targets[i].Backends[0], same.Targets[i].Backends[2] = same.Targets[i].Backends[2], same.Targets[i].Backends[0]
	}
	var c nfttables.Conn
	defer c.Close()
	generation, err := c.Generation()
	require.NoError(t, err)
	require.NoError(t, l.table.Apply(same))
	after, err := c.Generation()
	require.NoError(t, err)
	assert.Equal(t, generation, after)
	l.only(1)
	l.only(0, 1, 2)
	assert.ElementsMatch(t, blocks(before), blocks(nft(t, "-n", "list", "ruleset")), "nothing is left of a change that was taken back")
}

// TestCloseLeavesNothing of the entry, and touches nothing of others.
func TestCloseLeavesNothing(t *testing.T) {
	l := newLab(t)
	l.apply()
	l.host.Enter()
	for _, name := range []string{"ip keepvip-intercept", "ip other", "ip keepvip-spread-api", "inet keepvip-intercept-api"} {
		nft(t, "add table "+name)
	}
	second, err := Open("second", nil)
	require.NoError(t, err)
	require.NoError(t, second.Apply(l.cfg))
	second.Leave()
	require.NoError(t, l.table.Close())
	require.NoError(t, l.table.Close())
	assert.NotContains(t, nft(t, "list", "tables"), "ip keepvip-intercept-api")
	gone, err := Cleanup("second")
	require.NoError(t, err)
	assert.Empty(t, gone)
	gone, err = Cleanup()
	require.NoError(t, err)
	assert.Equal(t, []string{"ip keepvip-intercept-second", "ip6 keepvip-intercept-second"}, gone)
	for _, table := range []string{"ip keepvip-intercept\n", "ip other", "ip keepvip-spread-api", "inet keepvip-intercept-api"} {
		assert.Contains(t, nft(t, "list", "tables"), table)
	}
}

// TestCloseEndsWhatNobodyTranslates, so that its clients know at once.
func TestCloseEndsWhatNobodyTranslates(t *testing.T) {
	l := newLab(t)
	l.host.Enter()
	for _, others := range []bool{false, true} {
		if others {
			for _, family := range []string{"ip", "ip6"} {
				nft(t, "add table "+family+" other; add chain "+family+" other c { type nat hook output priority -100; }; add rule "+family+" other c ct mark 7 redirect")
			}
		}
		for name, vip := range both {
			l.apply()
			c := l.dial(l.host, vip)
			require.NotEqual(t, holder, c.server)
			reads := c.reads()
			if others {
				require.NoError(t, l.table.Close())
				nft(t, "list", "tables") // which waits until what was deleted has gone
				_, err := c.Write([]byte("x"))
				require.NoError(t, err)
				assert.NoError(t, <-reads, name)
				continue
			}
			require.NoError(t, l.table.Close())
			select {
			case err := <-reads:
				assert.ErrorIs(t, err, unix.ECONNABORTED, name)
			case <-time.After(netnstest.Patience):
				require.Fail(t, "a client still waits")
			}
			assert.Equal(t, holder, l.dial(l.host, vip).server, name)
		}
	}
}

// TestWhoTranslatesFirst: what spreads the load, or kube-proxy, finds the connection translated.
func TestWhoTranslatesFirst(t *testing.T) {
	l := newLab(t)
	l.host.Enter()
	for _, priority := range []string{"-110", "-100"} {
		nft(t, "add table ip keepvip-spread-api; add chain ip keepvip-spread-api ask { type nat hook output priority "+priority+"; }; "+
			"flush chain ip keepvip-spread-api ask; add rule ip keepvip-spread-api ask ip daddr 10.1.0.100 tcp dport 9443 dnat to 10.1.0.7:6443")
		l.only(1)
		assert.Equal(t, 1, l.dial(l.host, both["IPv4"]).server, priority)
		l.only()
		assert.Equal(t, 2, l.dial(l.host, both["IPv4"]).server, priority)
		nft(t, "delete table ip keepvip-spread-api")
	}
}
