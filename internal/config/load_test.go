package config

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func prefixes(addrs ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, a := range addrs {
		out = append(out, netip.MustParsePrefix(a))
	}
	return out
}

func TestLoadFlagsDescribeOneVIP(t *testing.T) {
	c, err := Load(Input{Flags: map[string][]string{"vip": {"10.77.0.100", "fd77::100/64"}, "vrid": {"51"}, "check": {"none"}}})
	require.NoError(t, err)
	require.Len(t, c.VIPs, 1)
	v := c.VIPs[0]
	assert.Equal(t, "apiserver", v.Name)
	assert.Equal(t, prefixes("10.77.0.100/32", "fd77::100/64"), v.Addresses)
	assert.Equal(t, VRRP{ID: 51, Version: 3, AdvertisementInterval: 100 * time.Millisecond, Preempt: true, MinTTL: 255, Checksum: ChecksumPseudoHeader, DownTimerAdverts: 3, Detector: detectorPlain}, v.VRRP)
	assert.Empty(t, v.AllChecks())
}

func TestLoadDefaults(t *testing.T) {
	c, err := Load(Input{Flags: map[string][]string{"vip": {"10.77.0.100"}}})
	require.NoError(t, err)
	assert.Equal(t, VIP{
		Name: "apiserver", Addresses: prefixes("10.77.0.100/32"), Scope: ScopeGlobal, Election: ElectionVRRP, Priority: 100,
		VRRP:       VRRP{ID: deriveVRID(netip.MustParseAddr("10.77.0.100")), Version: 3, AdvertisementInterval: 100 * time.Millisecond, Preempt: true, MinTTL: 255, Checksum: ChecksumPseudoHeader, DownTimerAdverts: 3, Detector: detectorPlain},
		Announce:   Announce{Refresh: time.Minute, RefreshRepeat: 1, Repeat: 6, Table: 198, Protocol: 248},
		OnConflict: defend, ProbeBeforeBind: true,
		Spread: Spread{
			Via: ViaOff, Weight: 1, BackendCheck: Check{Interval: 300 * time.Millisecond, Timeout: 600 * time.Millisecond, Rise: 2, Fall: 3},
		},
		Mode: ModeInternal, ExternalGrace: 30 * time.Second,
		Check: Check{
			URL: "https://127.0.0.1:6443/readyz", Interval: 300 * time.Millisecond, Timeout: 600 * time.Millisecond,
			Rise: 2, Fall: 3, WhenAllUnhealthy: Hold,
		},
	}, c.VIPs[0])
	assert.NotEmpty(t, c.VIPs[0].AllChecks())
	assert.Equal(t, "/run/keepvip/keepvip.sock /var/lib/keepvip 127.0.0.1:9645", strings.Join([]string{c.Socket, c.StateDir, c.Metrics.Address}, " "))
	assert.Equal(t, uint16(9646), c.Port)
	assert.Equal(t, Key{ID: 1, Mode: KeyEnforce, Window: 10 * time.Second}, c.Key)
	assert.Equal(t, Log{Level: LogInfo, Format: logText}, c.Log)
	assert.Empty(t, c.Path)
	assert.Empty(t, c.Warnings)
}

func TestLoadExampleOfTheReference(t *testing.T) {
	c, err := Load(Input{Env: []string{EnvInline + "=" + Example}, Elsewhere: true})
	require.NoError(t, err)
	assert.Equal(t, "/etc/keepvip/key", c.Key.File)
	assert.Equal(t, EnvInline, c.Path)
	assert.Equal(t, Example, string(c.File))
	v, found := c.VIP("registry")
	require.True(t, found)
	assert.Empty(t, v.AllChecks())
	assert.Len(t, v.VRRP.Peers, 3)
	_, found = c.VIP("apiserver2")
	assert.False(t, found)
}

func TestLoadPrecedence(t *testing.T) {
	file := head + "vips:\n- addresses: [10.77.0.1]\n  priority: 10\n  interface: file0\n  vrrp: {id: 10, peers: [10.77.0.7, 10.77.0.8]}\n  check: none\nmetrics: off\n"
	c, err := Load(Input{
		Env:   []string{"PATH=/bin", EnvInline + "=" + file, "KEEPVIP_PRIORITY=20", "KEEPVIP_INTERFACE=env0", "KEEPVIP_VRID=", "KEEPVIP_PEER=10.77.0.9, 10.77.0.10"},
		Flags: map[string][]string{"priority": {"30"}, "socket": {"/tmp/s"}},
	})
	require.NoError(t, err)
	v := c.VIPs[0]
	assert.Equal(t, uint8(30), v.Priority)
	assert.Equal(t, "env0", v.Interface)
	assert.Equal(t, uint8(10), v.VRRP.ID, "an empty variable counts as not set")
	assert.Equal(t, []netip.Addr{netip.MustParseAddr("10.77.0.9"), netip.MustParseAddr("10.77.0.10")}, v.VRRP.Peers, "a list is replaced")
	assert.Empty(t, c.Metrics.Address)
	assert.Empty(t, c.Metrics.Local())
	assert.Equal(t, "/tmp/s", c.Socket)

	origins := map[string]string{
		"vips[0].priority": "--priority", "vips[0].interface": "KEEPVIP_INTERFACE", "vips[0].vrrp.id": "KEEPVIP_CONFIG_YAML:7",
		"vips[0].check.url": "KEEPVIP_CONFIG_YAML:8", "vips[0].election": "default", "metrics.address": "KEEPVIP_CONFIG_YAML:9", "socket": "--socket",
	}
	for key, want := range origins {
		assert.Equal(t, want, c.Origin(key).String(), key)
	}
	assert.Equal(t, []string{"--interface=env0", "--priority=30", "--peer=10.77.0.9", "--peer=10.77.0.10", "--socket=/tmp/s"}, c.Args())
}

func TestLoadFlagsMakeTheVIPThatTheFileLacks(t *testing.T) {
	in := inFile("metrics: off\n")
	in.Flags = map[string][]string{"vip": {"10.77.0.100"}}
	c, err := Load(in)
	require.NoError(t, err)
	assert.Equal(t, prefixes("10.77.0.100/32"), c.VIPs[0].Addresses)
	assert.Empty(t, c.Metrics)
}

func TestLoadSeveralVIPs(t *testing.T) {
	in := inFile("vips:\n- {name: a, addresses: [10.77.0.1], interface: eth0, vrrp: {id: 7}}\n- {name: b, addresses: [10.78.0.1], interface: eth1, vrrp: {id: 7}}\n" +
		"- {name: c, addresses: ['fd77::1'], interface: eth0, vrrp: {id: 7}}\n")
	in.Flags = map[string][]string{"metrics": {"off"}}
	c, err := Load(in)
	require.NoError(t, err, "one VRID on two links, and in two families on one, is two routers; a flag about the process is fine")
	assert.Len(t, c.VIPs, 3)
	assert.Equal(t, []string{"--metrics=off"}, c.Args())
}

func TestLoadWarnsOfUnknownVariables(t *testing.T) {
	c, err := Load(Input{Env: []string{"KEEPVIP_VIP=10.77.0.1", "KEEPVIP_VIRD=51", "KEEPVIPX=1"}})
	require.NoError(t, err)
	assert.Equal(t, []string{"environment variable KEEPVIP_VIRD is not an option of keepvip and is ignored"}, c.Warnings)
}

func TestDeriveVRID(t *testing.T) {
	// Computed by hand from FNV-1a's definition; the same on every node and in every version.
	assert.Equal(t, fnv1a(10, 77, 0, 100), deriveVRID(netip.MustParseAddr("10.77.0.100")))
	seen := map[uint8]int{}
	for i := range 1 << 12 {
		id := deriveVRID(netip.AddrFrom4([4]byte{10, 77, byte(i >> 8), byte(i)}))
		require.NotZero(t, id)
		seen[id]++
	}
	assert.Len(t, seen, 255, "every VRID occurs")
}

func fnv1a(bytes ...byte) uint8 {
	h := uint64(0x811c9dc5)
	for _, b := range bytes {
		h = (h ^ uint64(b)) * 0x01000193 % (1 << 32)
	}
	return uint8(1 + h%255)
}

func TestLoadBoundsTheNumberOfAddresses(t *testing.T) {
	list := func(format string, n int) string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf(format, i+1))
		}
		return strings.Join(out, ",")
	}
	load := func(vips string) error {
		_, err := Load(Input{Flags: map[string][]string{"vip": {vips}}})
		return err
	}
	assert.NoError(t, load(list("10.77.0.%d", 255)+","+list("fd77::%x", 1745)))
	assert.EqualError(t, load(list("fd77::%x", 2001)), "config: --vip: 2001 of them, want at most 2000; more fit into a second entry")
}

func TestVIPAdvertisesWhatFitsIntoAnAdvertisement(t *testing.T) {
	var v VIP
	for i := range 1000 {
		v.Addresses = append(v.Addresses, netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 32),
			netip.PrefixFrom(netip.AddrFrom16([16]byte{0: 0xfd, 14: byte(i >> 8), 15: byte(i)}), 128))
	}
	v4, v6 := v.Advertised(true), v.Advertised(false)
	assert.Len(t, v4, 255)
	assert.Equal(t, netip.MustParseAddr("10.0.0.254"), v4[254])
	assert.Len(t, v6, 89)
	assert.Equal(t, netip.MustParseAddr("fd00::58"), v6[88])
}
