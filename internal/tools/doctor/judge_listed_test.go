package doctor

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/code"
)

// A node that has another address than in vrrp.peers is named, and nothing is said of a filter that does not exist.
func TestDoctorNamesAMemberThatIsNotListed(t *testing.T) {
	f := good(t)
	f.VIPs[0].VRRP.Peers = []netip.Addr{own, other}
	w := &f.Wires[0]
	w.Adverts[0].Arrived = false
	for i := range w.Hellos {
		w.Hellos[i].Arrived = w.Hellos[i].Own
	}
	got := map[code.Code]string{}
	for _, n := range Judge(f) {
		got[n.Code] = n.Peer
	}
	assert.Equal(t, map[code.Code]string{code.NotAPeer: peer.String(), code.PeerSilent: other.String()}, got)
}

// A peer behind a router is refused by the running keepvip: that is not the network, and nobody is silent.
func TestDoctorTellsWhatTheRunningKeepvipKeepsOut(t *testing.T) {
	f := good(t)
	f.VIPs[0].VRRP.Peers = []netip.Addr{own, peer}
	f.Wires[0].Adverts, f.Wires[0].Hellos, f.Wires[0].Claims = nil, nil, nil
	f.Daemon.KeptOut = []KeptOut{{VIP: "apiserver", Source: peer, Code: code.BehindRouter, Text: "TTL 254", Remedy: "Set vrrp.minTTL."}}
	list := Judge(f)
	require.Len(t, list, 1)
	assert.Equal(t, []any{code.BehindRouter, Error, "Set vrrp.minTTL."}, []any{list[0].Code, list[0].Severity, list[0].Remedy})
}

func TestDoctorOfANodeThatNoListHasAsksForItsOwnAddress(t *testing.T) {
	f := good(t)
	f.VIPs[0].VRRP.Peers = []netip.Addr{peer, other}
	f.Wires[0].Adverts, f.Wires[0].Hellos, f.Wires[0].Claims = nil, nil, nil
	list := Judge(f)
	require.Len(t, list, 2)
	for _, n := range list {
		assert.Equal(t, code.PeerSilent, n.Code)
		assert.Contains(t, n.Remedy, "this host's own address into vrrp.peers of that host")
	}
}

// A claim of a listed peer's host is no stranger's: its remedy is another one.
func TestDoctorNamesThePeerThatClaimsTheAddress(t *testing.T) {
	f := good(t)
	f.VIPs[0].VRRP.Peers = []netip.Addr{own, peer}
	f.Wires[0].Adverts, f.Wires[0].Hellos = nil, nil
	f.Wires[0].Claims = []Claim{{Address: vip, MAC: peerMAC, Host: peer}}
	codes := map[code.Code]bool{}
	for _, n := range Judge(f) {
		codes[n.Code] = true
	}
	assert.Equal(t, map[code.Code]bool{code.MemberClaims: true, code.PeerSilent: true}, codes)
}

func TestDoctorNamesTheMasterOfAPort(t *testing.T) {
	f := good(t)
	f.VIPs[0].Interface = "eth0"
	bridge := f.Links[1]
	bridge.Index, bridge.Name = 9, "br-ex"
	f.Links[1].Master, f.Links[1].Addresses = 9, nil
	f.Links = append(f.Links, bridge)
	got := map[code.Code]string{}
	for _, n := range Judge(f) {
		got[n.Code] = n.What
	}
	assert.Equal(t, "eth0 is a port of br-ex, which has the addresses of this host", got[code.PortOfAnother])
	assert.NotContains(t, got, code.NoOwnAddress)
}
