package daemon

import (
	"bytes"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
)

func TestLinkThatHasChangedIsAnother(t *testing.T) {
	old := link.Link{
		Index: 2, Name: "eth0", MAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, Up: true, Carriers: 2,
		Addresses: []link.Address{{Prefix: netip.MustParsePrefix("10.77.0.11/24")}},
	}
	for name, tt := range map[string]struct {
		change func(l *link.Link)
		same   bool
	}{
		"nothing":                            {func(*link.Link) {}, true},
		"a lifetime":                         {func(l *link.Link) { l.Addresses = []link.Address{{Prefix: l.Addresses[0].Prefix, Valid: 5}} }, true},
		"its name":                           {func(l *link.Link) { l.Name = "lan0" }, false},
		"its MAC":                            {func(l *link.Link) { l.MAC = net.HardwareAddr{2, 0, 0, 0, 0, 2} }, false},
		"its carrier, which is gone":         {func(l *link.Link) { l.Up, l.Carriers = false, 3 }, false},
		"its carrier, gone and back at once": {func(l *link.Link) { l.Carriers = 4 }, false},
		"its addresses":                      {func(l *link.Link) { l.Addresses = nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := old
			tt.change(&l)
			assert.Equal(t, tt.same, sameLink(old, l))
		})
	}
}

// What is missing where addresses are elsewhere has the code that it has where the election runs.
func TestPlaceElsewhereHasCodes(t *testing.T) {
	h := newHost(nil, slog.New(slog.DiscardHandler))
	h.seen.keep([]link.Link{
		{Index: 2, Name: "eth0", Up: true, Addresses: []link.Address{{Prefix: netip.MustParsePrefix("10.77.0.11/24")}}},
		{Index: 3, Name: "eth1"},
	}, 0)
	v := config.VIP{
		Addresses: []netip.Prefix{netip.MustParsePrefix("10.77.0.100/32"), netip.MustParsePrefix("10.78.0.100/32")}, Interface: "eth0",
		Elsewhere: []config.Elsewhere{{Address: netip.MustParseAddr("10.78.0.100"), Interface: "eth1"}},
	}
	_, err := h.seen.now().places(v)
	assert.Equal(t, code.LinkDown, code.Of(err), err)
	v.Elsewhere[0].Interface = "eth2"
	_, err = h.seen.now().places(v)
	assert.Equal(t, code.InterfaceMissing, code.Of(err), err)
}

func TestPlaceWithoutItsSourceHasACode(t *testing.T) {
	h := newHost(nil, slog.New(slog.DiscardHandler))
	h.seen.keep([]link.Link{{Index: 2, Name: "eth0", Up: true, Addresses: []link.Address{{Prefix: netip.MustParsePrefix("10.77.0.11/24")}}}}, 0)
	v := config.VIP{Addresses: []netip.Prefix{netip.MustParsePrefix("10.77.0.100/32")}, Election: config.ElectionVRRP}
	v.VRRP.Source = netip.MustParseAddr("10.77.0.12")
	_, err := h.seen.now().places(v)
	assert.EqualError(t, err, "eth0 does not have 10.77.0.12 yet, which vrrp.source wants")
	assert.Equal(t, code.NoOwnAddress, code.Of(err))
}

// A CNI moves the node's address from its interface to a bridge: no DHCP brings it back.
func TestPlaceOnAPortNamesItsMaster(t *testing.T) {
	h := newHost(nil, slog.New(slog.DiscardHandler))
	h.seen.keep([]link.Link{
		{Index: 2, Name: "eth0", Up: true, Master: 9},
		{Index: 9, Name: "br-ex", Up: true, Addresses: []link.Address{{Prefix: netip.MustParsePrefix("10.77.0.11/24")}}},
	}, 0)
	v := config.VIP{Addresses: []netip.Prefix{netip.MustParsePrefix("10.77.0.100/32")}, Election: config.ElectionVRRP, Interface: "eth0"}
	_, err := h.seen.now().places(v)
	assert.EqualError(t, err, "eth0 is a port of br-ex, which has the addresses of this host now: name br-ex as the interface")
	assert.Equal(t, code.PortOfAnother, code.Of(err))
	v.Interface = ""
	p, err := h.seen.now().places(v)
	assert.NoError(t, err)
	assert.Equal(t, "br-ex", p.Name)
}

// What is bound for good by another program is seen before it is removed, also on loopback, and what keepvip has bound is not taken for it.
func TestAddressesOfOthersAreToldApart(t *testing.T) {
	vip := netip.MustParsePrefix("10.77.0.100/32")
	h := newHost(nil, slog.New(slog.DiscardHandler))
	h.seen.keep([]link.Link{
		{Index: 1, Name: "lo", Loopback: true, Addresses: []link.Address{{Prefix: vip}}},
		{Index: 2, Name: "eth0", Addresses: []link.Address{{Prefix: vip, Ours: true, Valid: 10 * time.Second}}},
		{Index: 3, Name: "eth1", Addresses: []link.Address{{Prefix: vip, Valid: 10 * time.Second}}},
	}, 0)
	for index, want := range map[int]string{1: "lo", 2: "", 3: ""} {
		_, name := h.seen.now().bindsOfOthers(index, []netip.Prefix{vip})
		assert.Equal(t, want, name)
	}
}

func TestRemovalOfAForeignAddressHasALine(t *testing.T) {
	var log bytes.Buffer
	h := newHost(nil, slog.New(slog.NewTextHandler(&log, nil)))
	for range 2 * election.MostLines {
		h.tellRemoved("lo", []netip.Prefix{netip.MustParsePrefix("10.77.0.100/32")})
	}
	assert.Equal(t, election.MostLines, strings.Count(log.String(), "a virtual address that another program had bound is removed"))
	assert.Contains(t, log.String(), "interface=lo")
}

// What a person reads names the line, and an interface that was chosen on purpose may have any name.
func TestSuitsNamesTheNetworkOfContainers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keepvip.yaml")
	load := func(text string) *config.Config {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		cfg, err := config.Load(config.Input{File: file})
		require.NoError(t, err)
		return cfg
	}
	links := []link.Link{
		{Index: 2, Name: "eth0", Up: true, Addresses: []link.Address{{Prefix: netip.MustParsePrefix("10.77.0.11/24")}}},
		{Index: 3, Name: "docker0", Up: true, Addresses: []link.Address{{Prefix: netip.MustParsePrefix("172.17.0.1/16")}}},
	}
	const head = "apiVersion: keepvip/v1\nkind: Config\nvips:\n- name: a\n"
	assert.NoError(t, suits(links, load(head+"  addresses: [10.77.0.100]\n")))
	assert.EqualError(t, suits(links, load(head+"  addresses: [172.17.0.100]\n")),
		file+":5: vips[a]: 172.17.0.100 is in 172.17.0.0/16, the subnet of docker0, which belongs to containers: choose an address of the nodes' own subnet")
	assert.NoError(t, suits(links, load(head+"  addresses: [172.17.0.100]\n  interface: docker0\n")))
	assert.ErrorContains(t, suits(links, load(head+"  addresses: [10.77.0.11]\n")), file+":5: vips[a]: unsuitable address: 10.77.0.11 is this node's own")
}
