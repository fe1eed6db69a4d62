//go:build netns

package hostroute

import (
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/netnstest"
)

var (
	vip4  = netip.MustParseAddr("10.99.0.100")
	vip6  = netip.MustParseAddr("fd99::100")
	both  = []netip.Addr{vip4, vip6}
	table = Table{Number: 198, Protocol: 248}
)

func open(t *testing.T) *Handle {
	t.Helper()
	h, err := Open()
	require.NoError(t, err)
	t.Cleanup(h.Close)
	return h
}

func ip(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("ip", args...).CombinedOutput()
	if strings.Contains(string(out), "FIB table does not exist") {
		return ""
	}
	require.NoError(t, err, "ip %v: %s", args, out)
	return strings.TrimSpace(string(out))
}

// TestRoutesGoWithTheirDevice, which is what becomes of those of a process that is killed.
func TestRoutesGoWithTheirDevice(t *testing.T) {
	netnstest.New(t)
	h, d := open(t), NewDevice()
	index, err := d.Use()
	require.NoError(t, err)
	require.NoError(t, h.Put(table, index, both, false))
	missing, err := h.Missing(table, index, both)
	require.NoError(t, err)
	assert.Empty(t, missing)
	assert.Equal(t, "10.99.0.100 dev keepvip0 proto 248 scope link", ip(t, "-4", "route", "show", "table", "198"))
	assert.Contains(t, ip(t, "-6", "route", "show", "table", "198"), "fd99::100 dev keepvip0 proto 248 metric 1024")

	require.NoError(t, unix.Close(d.fd)) // as the kernel does for a process that ends
	assert.Empty(t, ip(t, "-4", "route", "show", "table", "198"))
	assert.Empty(t, ip(t, "-6", "route", "show", "table", "198"))
	assert.NotContains(t, ip(t, "link"), deviceName)
}

// TestRoutesAreReadBack whatever somebody has done to them.
func TestRoutesAreReadBack(t *testing.T) {
	netnstest.New(t)
	h, d := open(t), NewDevice()
	index, err := d.Use()
	require.NoError(t, err)
	require.NoError(t, h.Put(table, index, both, false))
	missing := func() []netip.Addr {
		out, err := h.Missing(table, index, both)
		require.NoError(t, err)
		return out
	}
	ip(t, "route", "del", "10.99.0.100", "table", "198")
	assert.Equal(t, []netip.Addr{vip4}, missing())
	ip(t, "-6", "route", "flush", "table", "198")
	assert.Equal(t, both, missing())
	require.NoError(t, h.Put(table, index, both, true))
	assert.Empty(t, missing())

	ip(t, "link", "del", deviceName)
	assert.Equal(t, both, missing())
	again, err := d.Mend()
	require.NoError(t, err)
	require.NoError(t, h.Put(table, again, both, false))
	index = again
	assert.Empty(t, missing())

	ip(t, "link", "set", deviceName, "down")
	assert.Equal(t, both, missing(), "a device that is down has no routes")
	index, err = d.Mend()
	require.NoError(t, err)
	require.NoError(t, h.Put(table, index, both, false))
	assert.Empty(t, missing())

	require.NoError(t, h.Remove(table, both))
	require.NoError(t, h.Remove(table, both), "what is gone is no error")
	assert.Equal(t, both, missing())
	d.Release()
	assert.NotContains(t, ip(t, "link"), deviceName)
}

// TestCleanupLeavesRoutesOfOthers in the same table.
func TestCleanupLeavesRoutesOfOthers(t *testing.T) {
	netnstest.New(t)
	h := open(t)
	ip(t, "link", "set", "lo", "up")
	loopback, err := Loopback()
	require.NoError(t, err)
	main := Table{Number: unix.RT_TABLE_MAIN, Protocol: 248}
	require.NoError(t, h.Put(main, loopback, both, false))
	ip(t, "route", "add", "10.99.0.101/32", "dev", "lo")
	ip(t, "route", "add", "10.99.1.0/24", "dev", "lo", "proto", "248")
	gone, err := h.Cleanup(main, vip6)
	require.NoError(t, err)
	assert.Equal(t, []netip.Addr{vip4}, gone)
	assert.Contains(t, ip(t, "-6", "route"), "fd99::100")
	assert.Contains(t, ip(t, "route"), "10.99.0.101")
	assert.Contains(t, ip(t, "route"), "10.99.1.0/24")
}

// TestRouteThatIsPutOnceMoreIsToldWithoutAGap to those who watch the table.
func TestRouteThatIsPutOnceMoreIsToldWithoutAGap(t *testing.T) {
	netnstest.New(t)
	h, d := open(t), NewDevice()
	index, err := d.Use()
	require.NoError(t, err)
	t.Cleanup(d.Release)
	require.NoError(t, h.Put(table, index, both, false))

	told, end := make(chan netlink.RouteUpdate, 64), make(chan struct{})
	defer close(end)
	require.NoError(t, netlink.RouteSubscribe(told, end))
	const times = 4
	for i := range times {
		require.NoError(t, h.Put(table, index, both, i%2 == 0))
	}
	seen := map[string]int{}
	for seen[vip4.String()]+seen[vip6.String()] < times*len(both) {
		select {
		case u := <-told:
			if u.Table != table.Number { // the kernel's own, as for the device's link-local address
				continue
			}
			assert.Equal(t, uint16(unix.RTM_NEWROUTE), u.Type, "%v", u.Route)
			seen[u.Dst.IP.String()]++
		case <-time.After(netnstest.Patience):
			require.Fail(t, "not told", "%v", seen)
		}
	}
	assert.Equal(t, map[string]int{vip4.String(): times, vip6.String(): times}, seen)
	assert.Len(t, strings.Split(ip(t, "-4", "route", "show", "table", "198"), "\n"), 1, "the route is one, not two")
	assert.Len(t, strings.Split(ip(t, "-6", "route", "show", "table", "198"), "\n"), 1)
}
