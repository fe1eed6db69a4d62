//go:build netns

package netnstests

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// virtualRouters speak VRRP in each version and family, with the virtual MAC as the source of advertisements and without.
func virtualRouters(*lab.Lab) []trial.Router {
	var routers []trial.Router
	for _, base := range []bool{false, true} {
		for _, kind := range []struct {
			name     string
			version  int
			interval time.Duration
			vip      string
		}{{"v2", 2, time.Second, "10.77.0.%d"}, {"v3-ipv4", 3, 500 * time.Millisecond, "10.77.0.%d"}, {"v3-ipv6", 3, 500 * time.Millisecond, "fd77::%d"}} {
			id := len(routers) + 1
			r := trial.Router{
				Name: kind.name, Flavor: trial.Flavor{Version: kind.version, VMAC: true, XmitBase: base},
				Settings: trial.Settings{VRID: id, Interval: kind.interval, Addresses: []netip.Addr{netip.MustParseAddr(fmt.Sprintf(kind.vip, 100+id))}},
			}
			if base {
				r.Name += "-xmit-base"
			}
			routers = append(routers, r)
		}
	}
	return routers
}

// unicastRouters have peers. They are apart from the others: the interface that keepalived makes for an IPv6 router answers ARP for the node's own
// IPv4 address, with the virtual MAC, and what is sent to that then goes to whoever is Active.
func unicastRouters(l *lab.Lab) []trial.Router {
	r := trial.Router{
		Name: "v3-ipv4-unicast", Flavor: trial.Flavor{Version: 3, VMAC: true, XmitBase: true},
		Settings: trial.Settings{VRID: 7, Interval: 500 * time.Millisecond, Addresses: []netip.Addr{lab.VIP4}},
	}
	r.Peers = trial.NodeAddresses(l, r.Addresses[0])
	return []trial.Router{r}
}

// virtualMACOf is that of a router (RFC 9568 section 7.3).
func virtualMACOf(r trial.Router) string {
	family := byte(1)
	if r.Addresses[0].Is6() {
		family = 2
	}
	return net.HardwareAddr{0, 0, 0x5e, 0, family, byte(r.VRID)}.String()
}

// Beside Debian's keepalived with use_vmac, in both roles, nobody learns another MAC of an address than the virtual one.
func TestVirtualMACBesideKeepalived(t *testing.T) {
	type row struct {
		low, high trial.Runner
		keepvip   int // node
		routers   func(*lab.Lab) []trial.Router
	}
	each(t, map[string]row{
		"keepvip above keepalived":          {trial.RunKeepalived, trial.RunKeepalivedConf, 2, virtualRouters},
		"keepalived above keepvip":          {trial.RunKeepvip, trial.RunKeepalived, 1, virtualRouters},
		"keepvip above keepalived, unicast": {trial.RunKeepalived, trial.RunKeepalivedConf, 2, unicastRouters},
		"keepalived above keepvip, unicast": {trial.RunKeepvip, trial.RunKeepalived, 1, unicastRouters},
	}, func(t *testing.T, c row) {
		l := must(host.Open(lab.Config{Nodes: 2}))(t)
		t.Cleanup(l.Close)
		routers := c.routers(l)
		all := must(l.RecordAll())(t)
		exchange(t, l, trial.Exchange{Low: c.low, High: c.high, Routers: routers}, c.keepvip)
		speaksAsRouter(t, ofNode(all.Stop(), c.keepvip), routers, l.Nodes[c.keepvip-1])
	})
}

// speaksAsRouter looks at each frame of a node: what names an address in ARP or neighbour discovery names the virtual MAC, and comes from it, and so do
// advertisements, unless they are to have that of the interface. Nothing else has the virtual MAC as its source but what is said from an address.
func speaksAsRouter(t *testing.T, frames []lab.RecordedFrame, routers []trial.Router, n *lab.Node) {
	t.Helper()
	adverts, early, claims := map[string]int{}, map[string]int{}, map[string]int{}
	for _, f := range frames {
		if len(f.Data) < 14+20 {
			continue
		}
		from := net.HardwareAddr(f.Data[6:12]).String()
		to := net.HardwareAddr(f.Data[:6]).String()
		if to == from {
			continue // for nobody: it renews the lease
		}
		said := false
		for _, r := range routers {
			mac := virtualMACOf(r)
			if vrid, ok := advertOf(f.Data, r.Addresses[0].Is4()); ok && int(vrid) == r.VRID {
				want := mac
				if r.XmitBase {
					want = n.NICs[0].MAC.String()
				}
				switch from {
				case want:
					adverts[r.Name]++
				case n.NICs[0].MAC.String():
					early[r.Name]++
				default:
					assert.Fail(t, "an advertisement", "%s: from %s", r.Name, from)
				}
				said = true
			}
			if named, ok := namedIn(f.Data, r.Addresses[0]); ok {
				assert.Equal(t, mac, named, "%s: the MAC of %s", r.Name, r.Addresses[0])
				assert.Equal(t, mac, from, "%s: the frame that names it", r.Name)
				claims[r.Name]++
				said = true
			}
		}
		if strings.HasPrefix(from, "00:00:5e:00:") && !said {
			assert.Equal(t, "33:33:00:00:00:16", to, "only the report of the address's own multicast group leaves as well: % x", f.Data)
		}
	}
	for _, r := range routers {
		assert.NotZero(t, adverts[r.Name], r.Name)
		assert.NotZero(t, claims[r.Name], r.Name)
		// It takes the address four times at most: the advertisement before that, and the last one, come from the interface.
		assert.LessOrEqual(t, early[r.Name], 12, "%s: advertisements of a node that does not have the address", r.Name)
		t.Logf("%s: %d advertisements from the MAC that they are to have, %d from the interface's", r.Name, adverts[r.Name], early[r.Name])
	}
}

// advertOf is the VRID of an advertisement.
func advertOf(frame []byte, ipv4 bool) (vrid byte, ok bool) {
	switch kind := binary.BigEndian.Uint16(frame[12:]); {
	case ipv4 && kind == unix.ETH_P_IP && frame[14+9] == 112:
		return frame[14+20+1], true
	case !ipv4 && kind == unix.ETH_P_IPV6 && len(frame) > 14+40 && frame[14+6] == 112:
		return frame[14+40+1], true
	}
	return 0, false
}

// namedIn is the MAC that ARP or a neighbour advertisement names for an address; of an ARP request in the name of the address that of its sender.
func namedIn(frame []byte, addr netip.Addr) (mac string, ok bool) {
	kind, body := binary.BigEndian.Uint16(frame[12:]), frame[14:]
	switch {
	case addr.Is4() && kind == unix.ETH_P_ARP && netip.AddrFrom4([4]byte(body[14:18])) == addr:
		return net.HardwareAddr(body[8:14]).String(), true
	case addr.Is6() && kind == unix.ETH_P_IPV6 && body[6] == 58 && len(body) >= 40+24 && body[40] == 136 && netip.AddrFrom16([16]byte(body[48:64])) == addr:
		if len(body) < 40+24+8 { // to who has the MAC already
			return net.HardwareAddr(frame[6:12]).String(), true
		}
		return net.HardwareAddr(body[40+24+2 : 40+24+8]).String(), true
	}
	return "", false
}

func withVirtualMAC(args ...string) trial.Config {
	return trial.Config{
		Product: trial.Keepvip{Args: append([]string{"--virtual-mac", "auto", "--vrid", "51"}, args...)}, Addresses: []netip.Addr{lab.VIP4, lab.VIP6},
	}
}

// The kernel ends the lease of an address with a virtual MAC as that of any other: whoever is killed or frozen answers no longer than that.
func TestVirtualMACFallsSilentWithItsHolder(t *testing.T) {
	t.Parallel()
	g := started(t, withVirtualMAC())
	for name, fault := range map[string]trial.Fault{
		"kill -9": trial.KilledForGood,
		"SIGSTOP": trial.Silenced("SIGSTOP", trial.BySignal, 6*time.Second),
	} {
		t.Run(name, func(t *testing.T) {
			all := must(g.Lab.RecordAll())(t)
			res := fallsSilent(t, g, fault, true)
			end := res.Report.Ended
			if again := res.Report.AdvertsOf(res.Victim, announced(res), end); len(again) > 0 {
				end = again[0].At // the others have fallen silent, and it holds the address anew
			}
			assert.Zero(t, pulledBack(res, all.Stop(), end), "frames that take switches back to the silenced node")
		})
	}
}

// A planned move of an address with a virtual MAC loses nothing: the switch sends to the next node from its first announcement on. An answer that the former
// holder was sending in that moment takes the switch back until the next node's next frame; docs/virtual-mac.md says so.
func TestVirtualMACPlannedMoveLosesNothing(t *testing.T) {
	t.Parallel()
	cfg := withVirtualMAC()
	cfg.Interval = 100 * time.Millisecond
	g := started(t, cfg)
	for _, move := range []trial.Fault{trial.Verb("handover"), trial.Verb("drain"), trial.Terminated} {
		all := must(g.Lab.RecordAll())(t)
		res := measure(t, g, move)
		frames := all.Stop()
		back := pulledBack(res, frames, res.FaultAt+time.Second)
		if back == 0 {
			passedOn(t, res)
		}
		assert.Zero(t, res.Finders, "two nodes answering ARP or neighbour discovery")
		t.Logf("%s: probes lost %d, frames from the virtual MAC after the taker's first announcement: %d", res.Fault, res.Lost, back)
	}
}

// pulledBack is how many frames with the virtual MAC as their source the former holder has sent after the next one has announced the address, before a time.
func pulledBack(res *trial.Result, frames []lab.RecordedFrame, until time.Duration) (n int) {
	from := announced(res)
	for _, f := range frames {
		if f.Node == res.Victim && f.At > from && f.At < until && strings.HasPrefix(net.HardwareAddr(f.Data[6:12]).String(), "00:00:5e:00:") {
			n++
		}
	}
	return n
}

// ipLink is what `ip -d link` says of an interface; empty where there is none.
func ipLink(t *testing.T, n *lab.Node, name string) string {
	t.Helper()
	return must(n.Run("sh", "-c", "ip -d link show dev "+name+" 2>/dev/null || true"))(t)
}

// A backup has the interface, and takes nothing that is sent to the virtual MAC; the holder's is up; nothing of it is left after the end.
func TestVirtualMACInterfaceIsUpWithTheAddressAlone(t *testing.T) {
	t.Parallel()
	cfg := withVirtualMAC()
	cfg.Lab.Nodes = 2
	cfg.Priorities = []int{120, 100}
	g := prepare(t, cfg)
	first, second := g.Lab.Nodes[0], g.Lab.Nodes[1]
	before := must(first.State())(t)
	require.NoError(t, g.StartAll())
	up := func(n *lab.Node) bool { return strings.Contains(ipLink(t, n, "vrrp.51"), ",UP") }
	settled := func(holder, other *lab.Node) {
		t.Helper()
		eventually(t, trial.SettleLimit, holder.Label+" has the address and the other none of it", func() bool {
			return holder.Holds(lab.VIP4) && !other.Holds(lab.VIP4) && up(holder) && !up(other) && strings.Contains(ipLink(t, other, "vrrp.51"), "state DOWN")
		})
	}
	settled(first, second)
	assert.Contains(t, ipLink(t, first, "vrrp.51"), "link/ether 00:00:5e:00:01:33")
	assert.Equal(t, "2", strings.TrimSpace(must(first.Run("sysctl", "-n", "net.ipv4.conf.eth0.arp_announce"))(t)))

	assert.Contains(t, printed(t, first, "status"), "on eth0, with the virtual MAC 00:00:5e:00:01:33 (vrrp.51)")

	require.Zero(t, command(t, first, "drain"))
	settled(second, first)

	code := must(g.Daemon(first).Terminate(10 * time.Second))(t)
	assert.Zero(t, code, g.Logs())
	assert.Equal(t, before, must(first.State())(t))
	assert.NotContains(t, g.Logs(), "level=ERROR")
}

// What a killed keepvip has left goes with the next start, and what somebody else has made under that name stays.
func TestVirtualMACLeftovers(t *testing.T) {
	t.Parallel()
	cfg := withVirtualMAC()
	cfg.Lab.Nodes = 1
	g := open(t, cfg)
	n := g.Lab.Nodes[0]
	kill := func() {
		t.Helper()
		require.NoError(t, g.Daemon(n).Kill9())
		must(g.Daemon(n).Wait(5 * time.Second))(t)
	}
	index := strings.Fields(ipLink(t, n, "vrrp.51"))[0]
	kill()
	require.NotEmpty(t, ipLink(t, n, "vrrp.51"))
	require.NoError(t, g.Start(n))
	eventually(t, trial.SettleLimit, "the next run holds the address again", func() bool { return active(n) })
	assert.Equal(t, index, strings.Fields(ipLink(t, n, "vrrp.51"))[0], "what fits is taken over")

	kill()
	p := must(trial.Keepvip{}.Run(n, "--vip", lab.VIP4.String(), "--check", "none", "--interface", "eth0", "--vrid", "51"))(t)
	eventually(t, trial.SettleLimit, "a run without a virtual MAC has the address on eth0", func() bool { return active(n) })
	assert.Empty(t, ipLink(t, n, "vrrp.51"))
	assert.Equal(t, "0", strings.TrimSpace(must(n.Run("sysctl", "-n", "net.ipv4.conf.eth0.arp_announce"))(t)))
	must(p.Terminate(10 * time.Second))(t)

	must(n.Run("ip", "link", "add", "vrrp.51", "link", "eth0", "address", "00:00:5e:00:01:33", "up", "type", "macvlan", "mode", "private"))(t)
	require.NoError(t, g.Start(n))
	eventually(t, trial.SettleLimit, "it says whose interface that is not", tells(n, "vrrp.51 is a macvlan that keepvip has not made", "[KV244]"))
	assert.NotEmpty(t, ipLink(t, n, "vrrp.51"))
	must(n.Run("ip", "link", "delete", "vrrp.51"))(t)
	eventually(t, trial.SettleLimit, "it goes on when that is gone", func() bool { return active(n) })
	must(n.Run("ip", "link", "delete", "vrrp.51"))(t)
	eventually(t, trial.SettleLimit, "and makes it anew when somebody deletes it", func() bool { return active(n) && n.Holds(lab.VIP4) && ipLink(t, n, "vrrp.51") != "" })

	kill()
	p, code := mustTwo(trial.Keepvip{}.Command(n, "cleanup", "--socket", trial.Socket(n), "--state-dir", n.Path("state")))(t)
	require.Zero(t, code, p.Log())
	assert.Contains(t, p.Stdout(), "removed the interface vrrp.51\n")
	assert.Empty(t, ipLink(t, n, "vrrp.51"))
}

func active(n *lab.Node) bool { return isActive(n) && n.Holds(lab.VIP4) }

// A reload gives the address the virtual MAC, another name for the interface, and takes both away again.
func TestVirtualMACByReload(t *testing.T) {
	t.Parallel()
	g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 1}})
	n := g.Lab.Nodes[0]
	before := must(n.State())(t)
	write := func(vmac string) string {
		return must(n.WriteFile("keepvip.yaml", fmt.Sprintf("%svips: [{name: a, addresses: [%s], interface: eth0, check: none, vrrp: {id: 51%s}}]\n", fileHead, lab.VIP4, vmac), 0o644))(t)
	}
	p := must(trial.Keepvip{}.Run(n, "--config", write("")))(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(p.Log())
		}
	})
	on := func(name string) bool {
		all, err := n.Addresses()
		return err == nil && active(n) && strings.Contains(fmt.Sprint(all[name]), lab.VIP4.String())
	}
	eventually(t, trial.SettleLimit, "on eth0", func() bool { return on("eth0") })
	for _, c := range []struct{ vmac, on, gone string }{
		{", virtualMAC: auto", "vrrp.51", "vmac0"}, {", virtualMAC: vmac0", "vmac0", "vrrp.51"}, {"", "eth0", "vmac0"},
	} {
		write(c.vmac)
		require.Zero(t, command(t, n, "reload"))
		eventually(t, trial.SettleLimit, "on "+c.on, func() bool { return on(c.on) && g.Lab.Reaches(g.Lab.Client.Namespace, lab.VIP4, time.Second) })
		assert.Empty(t, ipLink(t, n, c.gone))
	}
	must(p.Terminate(10 * time.Second))(t)
	assert.Equal(t, before, must(n.State())(t))
	assert.NotContains(t, p.Log(), "level=ERROR")
}
