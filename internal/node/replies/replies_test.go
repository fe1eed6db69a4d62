package replies

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
)

// kernel has a default route by the interface 1, and by the interface 2 for what is from those addresses.
type kernel struct {
	rules   []link.Rule
	by2     map[netip.Addr]bool
	nowhere bool // the main table has no default route
	asked   *int
}

func (k kernel) Rules(bool) ([]link.Rule, error) { return k.rules, nil }

func (k kernel) RouteFrom(from, to netip.Addr) (link.Route, error) {
	*k.asked++
	switch {
	case k.by2[from] || netip.MustParsePrefix("10.2.0.0/24").Contains(to):
		return link.Route{Index: 2}, nil
	case k.nowhere:
		return link.Route{}, unix.ENETUNREACH
	}
	return link.Route{Index: 1}, nil
}

var (
	own2 = netip.MustParseAddr("10.2.0.11")
	vip  = netip.MustParseAddr("10.2.0.100")
	rule = link.Rule{Priority: 1000, From: netip.PrefixFrom(own2, 32), Table: 102, Plain: true}
)

func TestRepliesAreComparedWithThoseFromTheOwnAddress(t *testing.T) {
	marked := rule
	marked.Plain = false
	subnet := rule
	subnet.From = netip.MustParsePrefix("10.2.0.0/24")
	narrow := rule
	narrow.To = netip.MustParsePrefix("192.0.2.0/24")
	ofVIP := rule
	ofVIP.From = netip.PrefixFrom(vip, 32)
	const other = "replies from 10.2.0.100 to hosts of other subnets leave by eth1, and those from this node's own address 10.2.0.11 by eth2"
	const none = "replies from 10.2.0.100 to hosts of other subnets have no route, and those from this node's own address 10.2.0.11 leave by eth2"
	const command = "ip rule add from 10.2.0.100 lookup 102 priority 1000"
	for name, c := range map[string]struct {
		rules          []link.Rule
		by2            []netip.Addr
		bound, nowhere bool
		reason, remedy string
		asked          int // at most
	}{
		"no rule goes by the source": {rules: []link.Rule{{Table: 254, Plain: true}}, bound: true},
		"a rule for the own address": {rules: []link.Rule{rule}, by2: []netip.Addr{own2}, bound: true, reason: other, remedy: command, asked: 4},
		"before the address is here": {rules: []link.Rule{rule}, by2: []netip.Addr{own2}, reason: other, remedy: command, asked: 4},
		"no route at all":            {rules: []link.Rule{rule}, by2: []netip.Addr{own2}, bound: true, nowhere: true, reason: none, remedy: command, asked: 4},
		"a rule for both":            {rules: []link.Rule{rule, ofVIP}, by2: []netip.Addr{own2, vip}, bound: true, asked: 4},
		"a rule for both, not here":  {rules: []link.Rule{rule, ofVIP}, by2: []netip.Addr{own2, vip}},
		"a rule for the subnet":      {rules: []link.Rule{subnet}, by2: []netip.Addr{own2, vip}, bound: true, asked: 4},
		"a rule that goes by a mark": {rules: []link.Rule{marked}, by2: []netip.Addr{own2}, bound: true, reason: other, asked: 4},
		"several rules": {
			rules: []link.Rule{narrow, rule}, by2: []netip.Addr{own2}, bound: true, reason: other, asked: 4,
			remedy: "ip rule add from 10.2.0.100 to 192.0.2.0/24 lookup 102 priority 1000 && " + command,
		},
		"neither leaves there": {rules: []link.Rule{rule}, bound: true, asked: 4},
	} {
		t.Run(name, func(t *testing.T) {
			k := kernel{rules: c.rules, by2: map[netip.Addr]bool{}, nowhere: c.nowhere, asked: new(int)}
			for _, a := range c.by2 {
				k.by2[a] = true
			}
			links := []link.Link{
				{Index: 1, Name: "eth1", Up: true, Addresses: []link.Address{{Prefix: netip.MustParsePrefix("10.1.0.11/24")}}},
				{Index: 2, Name: "eth2", Up: true, Addresses: []link.Address{{Prefix: netip.PrefixFrom(own2, 24)}}},
			}
			lost, _ := New(k).Of(&config.VIP{Addresses: []netip.Prefix{netip.PrefixFrom(vip, 32)}}, links, func(netip.Addr) bool { return c.bound })
			assert.Equal(t, Lost{Reason: c.reason, Remedy: c.remedy}, lost)
			assert.LessOrEqual(t, *k.asked, c.asked)
		})
	}
}
