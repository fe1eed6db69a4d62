//go:build netns

package routing

import (
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/netnstest"
)

// begin runs a daemon in a namespace until the test ends.
func begin(t *testing.T, in *netnstest.Space, program string, args ...string) {
	t.Helper()
	in.In(func() {
		c := exec.Command(program, args...)
		require.NoError(t, c.Start())
		t.Cleanup(func() {
			_ = c.Process.Kill()
			_ = c.Wait()
		})
	})
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// routers are a node with a route to the address in a table, and a router that listens to it.
func routers(t *testing.T, table string) (node *netnstest.Space) {
	t.Helper()
	node = netnstest.New(t)
	router := netnstest.New(t)
	node.Pair("eth0", router, "eth0")
	node.Has("eth0", "10.77.0.11/24")
	router.Has("eth0", "10.77.0.254/24")
	node.In(func() {
		node.IP("tuntap add keepvip0 mode tun")
		node.IP("link set keepvip0 up")
		node.IP("route add 10.99.0.100/32 dev keepvip0 proto 248 table " + table)
	})
	dir := t.TempDir()
	conf := write(t, dir, "router.conf", "router id 10.77.0.254;\nprotocol device {}\n"+
		"protocol bgp n1 { local 10.77.0.254 as 65000; neighbor 10.77.0.11 as 65001; passive; ipv4 { import all; export none; }; }\n")
	begin(t, router, "bird", "-f", "-c", conf, "-s", filepath.Join(dir, "router.ctl"))
	return node
}

// tells waits until the daemon below root tells the router of the route.
func tells(t *testing.T, root, name, neighbour string) {
	t.Helper()
	var found []Daemon
	netnstest.New(t).Eventually(func() bool {
		found = Find(t.Context(), root, []netip.Addr{vip})
		return len(found) == 1 && found[0].Err == nil && len(found[0].Routes[vip].Leaves) > 0
	}, name+" tells the router")
	assert.Equal(t, name, found[0].Name)
	assert.Equal(t, Route{Taken: true, Leaves: []string{neighbour}}, found[0].Routes[vip])
	assert.Empty(t, found[0].Down)
}

func TestBIRDItself(t *testing.T) {
	node, root := routers(t, "198"), t.TempDir()
	conf := write(t, root, "run/bird/bird.conf", "router id 10.77.0.11;\nprotocol device { scan time 1; }\n"+
		"protocol kernel keepvip4 { kernel table 198; learn; ipv4 { import where krt_source = 248; export none; }; }\n"+
		"protocol bgp uplink { local 10.77.0.11 as 65001; neighbor 10.77.0.254 as 65000; connect delay time 1; connect retry time 1;\n"+
		" ipv4 { import none; export where krt_source = 248; next hop self; }; }\n")
	begin(t, node, "bird", "-f", "-c", conf, "-s", filepath.Join(root, "run/bird/bird.ctl"))
	tells(t, root, "BIRD", "uplink")
}

func TestFRRItself(t *testing.T) {
	node := routers(t, "254")
	root, err := os.MkdirTemp("", "frr") // of a user that may not look into t.TempDir
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	dir := filepath.Join(root, "run/frr")
	conf := write(t, root, "run/frr/frr.conf", "log stdout\nroute-map KEEPVIP permit 10\n match interface keepvip0\n!\nrouter bgp 65001\n bgp router-id 10.77.0.11\n"+
		" no bgp ebgp-requires-policy\n neighbor 10.77.0.254 remote-as 65000\n neighbor 10.77.0.254 timers connect 1\n"+
		" address-family ipv4 unicast\n  redistribute kernel route-map KEEPVIP\n exit-address-family\n!\n")
	require.NoError(t, exec.Command("chown", "-R", "frr:frr", root).Run())
	for _, name := range []string{"zebra", "bgpd"} {
		begin(t, node, "/usr/lib/frr/"+name, "-f", conf, "-i", filepath.Join(dir, name+".pid"), "-z", filepath.Join(dir, "zserv.api"),
			"-u", "frr", "-g", "frr", "-A", "127.0.0.1", "-P", "0", "--vty_socket", dir)
	}
	tells(t, root, "FRR", "10.77.0.254")
}
