package daemon

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/internal/serve/service/spread"
	"github.com/keepvip/keepvip/members"
)

// What a member looks at where another node holds a spread address: the holder's own services that it says are well.
func TestClientsConnectToTheServicesOfAHolderThatSpreads(t *testing.T) {
	own, serves, other := netip.MustParseAddr("fe80::12"), netip.MustParseAddr("fd77::12"), netip.MustParseAddr("10.77.0.12")
	v := config.VIP{
		Addresses: []netip.Prefix{netip.MustParsePrefix("fd77::100/128"), netip.MustParsePrefix("10.77.0.100/32")},
		Spread: config.Spread{Via: config.ViaDirect, Ports: []config.SpreadPort{
			{Port: 9443, Target: 7443, Protocol: config.ProtocolTCP}, {Port: 80, Protocol: config.ProtocolTCP}, {Port: 53, Protocol: config.ProtocolUDP},
		}},
	}
	spreads := func(change func(*election.Spread)) election.Member {
		s := election.Spread{Fit: true, Weight: 1, Other: other, Ports: []members.SpreadPort{
			{Protocol: unix.IPPROTO_TCP, Port: 9443, Healthy: true}, {Protocol: unix.IPPROTO_TCP, Port: 80}, {Protocol: unix.IPPROTO_UDP, Port: 53, Healthy: true},
		}}
		change(&s)
		return election.Member{Address: own, Spread: &s}
	}
	at, sure := clientsConnect(v)
	assert.False(t, sure, "a firewall may keep members from each other's services")
	for name, c := range map[string]struct {
		holder election.Member
		want   string
	}{
		"it does not spread":      {election.Member{Address: own}, "[]"},
		"it takes no connections": {spreads(func(s *election.Spread) { s.Fit = false }), "[]"},
		"it gets no new ones":     {spreads(func(s *election.Spread) { s.Weight = 0 }), "[]"},
		"by the election":         {spreads(func(*election.Spread) {}), "[[fe80::12%eth0]:7443 10.77.0.12:7443]"},
		"by what it serves at":    {spreads(func(s *election.Spread) { s.Serves, s.Other = serves, netip.Addr{} }), "[[fd77::12]:7443]"},
		"by its address there":    {spreads(func(s *election.Spread) { s.Address, s.Other = serves, netip.Addr{} }), "[[fd77::12]:7443]"},
		"two services are well":   {spreads(func(s *election.Spread) { s.Ports[1].Healthy, s.Other = true, netip.Addr{} }), "[[fe80::12%eth0]:7443 [fe80::12%eth0]:80]"},
	} {
		assert.Equal(t, c.want, fmt.Sprint(at(instance.Place{Name: "eth0"}, c.holder)), name)
	}

	v.Spread.Backends = []config.Backend{{Addresses: []netip.Addr{other}}}
	at, _ = clientsConnect(v)
	assert.Nil(t, at, "no member serves")
}

func TestConnectAll(t *testing.T) {
	a, b := netip.MustParseAddrPort("10.77.0.12:7443"), netip.MustParseAddrPort("10.77.0.12:80")
	for name, c := range map[string]struct {
		all   []netip.AddrPort
		ends  map[netip.AddrPort]error
		why   string
		known bool
	}{
		"nothing to try":       {},
		"all answer":           {all: []netip.AddrPort{a, b}, known: true},
		"one refuses":          {all: []netip.AddrPort{a, b}, ends: map[netip.AddrPort]error{b: spread.ErrRefused}, why: "10.77.0.12:80 refuses connections", known: true},
		"one is silent":        {all: []netip.AddrPort{a, b}, ends: map[netip.AddrPort]error{a: spread.ErrSilent}, why: "10.77.0.12:7443 does not answer", known: true},
		"one cannot be tried":  {all: []netip.AddrPort{a, b}, ends: map[netip.AddrPort]error{a: unix.ENOBUFS}},
		"and the other fails":  {all: []netip.AddrPort{a, b}, ends: map[netip.AddrPort]error{a: unix.ENOBUFS, b: spread.ErrSilent}, why: "10.77.0.12:80 does not answer", known: true},
		"none could be tried":  {all: []netip.AddrPort{a}, ends: map[netip.AddrPort]error{a: unix.ENETUNREACH}},
		"the first is decided": {all: []netip.AddrPort{a, b}, ends: map[netip.AddrPort]error{a: spread.ErrRefused, b: spread.ErrSilent}, why: "10.77.0.12:7443 refuses connections", known: true},
	} {
		why, known := connectAll(c.all, func(at netip.AddrPort) error { return c.ends[at] })
		assert.Equal(t, c.why, why, name)
		assert.Equal(t, c.known, known, name)
	}
}
