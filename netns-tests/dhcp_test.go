//go:build netns

package netnstests

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// dhcpServer is a dnsmasq on the lab's client.
type dhcpServer struct {
	t   *testing.T
	lab *lab.Lab
}

// run begins anew with another configuration, and with the leases that there are.
func (d *dhcpServer) run(args ...string) {
	d.t.Helper()
	d.end()
	must(d.lab.Client.Run("dnsmasq", append([]string{
		"--conf-file=/dev/null", "--port=0", "--user=root", "--interface=eth0", "--bind-interfaces", "--log-dhcp", "--log-facility=" + d.path("log"),
		"--pid-file=" + d.path("pid"), "--dhcp-leasefile=" + d.path("leases"), "--dhcp-option=option:T1,12",
	}, args...)...))(d.t)
}

func (d *dhcpServer) end() {
	if _, err := os.Stat(d.path("pid")); err == nil {
		must(d.lab.Client.Run("pkill", "-F", d.path("pid")))(d.t)
		eventually(d.t, 0, "the DHCP server has ended", func() bool {
			_, err := os.Stat(d.path("pid"))
			return os.IsNotExist(err)
		})
	}
}

func (d *dhcpServer) path(name string) string { return filepath.Join(d.lab.Dir, "dnsmasq."+name) }

// said is how often the server has said something about the address, as in DHCPACK.
func (d *dhcpServer) said(what string) int {
	return strings.Count(string(must(os.ReadFile(d.path("log")))(d.t)), what+"(eth0) "+lab.VIP4.String()+" ")
}

// lease is the only line of the server's leases.
func (d *dhcpServer) lease() string {
	text, err := os.ReadFile(d.path("leases"))
	if !os.IsNotExist(err) {
		require.NoError(d.t, err)
	}
	assert.LessOrEqual(d.t, strings.Count(string(text), "\n"), 1, "a second lease")
	return strings.TrimSpace(string(text))
}

// packetSockets are those of a namespace.
func packetSockets(t *testing.T, n *lab.Node) int {
	t.Helper()
	return strings.Count(must(n.Run("cat", "/proc/net/packet"))(t), "\n")
}

// The DHCP server knows the address: with a reservation, which the holder asks an offer of, and with an authoritative server, which grants at the first word.
func TestLeaseOfADHCPServerMovesWithTheAddress(t *testing.T) {
	const client = "keepvip-10.77.0.100"
	each(t, map[string][]string{
		"a reservation":           {"--dhcp-range=10.77.0.220,10.77.0.230,2m", "--dhcp-host=id:" + client + "," + lab.VIP4.String() + ",2m"},
		"an authoritative server": {"--dhcp-range=10.77.0.90,10.77.0.110,2m", "--dhcp-authoritative"},
	}, func(t *testing.T, args []string) {
		// The first lease of a reservation takes some 13 s, for which a holder has to remain one.
		g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 2}, Product: trial.Keepvip{Args: []string{"--dhcp"}}, Interval: time.Second})
		d := &dhcpServer{t, g.Lab}
		t.Cleanup(d.end)
		d.run(args...)
		sockets := map[*lab.Node]int{}
		for _, n := range g.Lab.Nodes {
			sockets[n] = packetSockets(t, n)
		}
		require.NoError(t, g.StartAll())
		// leased asserts that the one lease is that of the holder's interface, and of the cluster's client.
		leased := func() (holder *lab.Node) {
			t.Helper()
			says := "  dhcp      " + lab.VIP4.String() + " as " + client + ": leased by " + d.lab.Client.Address.String()
			eventually(t, time.Minute, "the lease is that of the holder, and its status says so", func() bool {
				holder = settled(t, g)
				return strings.HasSuffix(d.lease(), fmt.Sprintf("%s %s * 00:%s", holder.NICs[0].MAC, lab.VIP4, hexed(client))) && tells(holder, says)()
			})
			return holder
		}
		holder := leased()
		asked, granted := d.said("DHCPDISCOVER"), d.said("DHCPACK")
		eventually(t, time.Minute, "it is renewed", func() bool { return d.said("DHCPACK") > granted })

		passesOn(t, holder)
		holder = leased()
		assert.Equal(t, asked, d.said("DHCPDISCOVER"), "the lease goes on")
		assert.Zero(t, d.said("DHCPNAK")+d.said("DHCPRELEASE"))

		d.run("--dhcp-range=10.77.0.220,10.77.0.230,2m", "--dhcp-authoritative", "--dhcp-host=id:another,"+lab.VIP4.String())
		eventually(t, time.Minute, "the status says that the server refuses", func() bool {
			return strings.Contains(printed(t, holder, "status"), "[KV256]")
		})
		assert.True(t, holder.Holds(lab.VIP4), "the address stays")
		reached(t, g)

		for _, n := range g.Lab.Nodes {
			must(g.Daemon(n).Terminate(trial.SettleLimit))(t)
			assert.False(t, n.Holds(lab.VIP4))
			assert.Equal(t, sockets[n], packetSockets(t, n), "sockets that are left on %s", n.Label)
		}
		assert.Zero(t, d.said("DHCPRELEASE"))
	})
}

// hexed is a text as the server writes a client identifier.
func hexed(text string) string {
	return strings.ReplaceAll(strings.TrimSpace(fmt.Sprintf("% x", text)), " ", ":")
}
