package link

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Route is how a packet leaves this host.
type Route struct {
	Index int        // of the interface
	Via   netip.Addr // the router; not valid: the other host is on the link
}

// RouteFrom is how the kernel would send a packet from one address to another, by its rules and tables. An IPv4 source has to be on this host; a
// source that is not valid stands for one that no rule names. The error is the kernel's where it has no route, or one that drops.
func (h *Handle) RouteFrom(from, to netip.Addr) (Route, error) {
	m := message(make([]byte, unix.SizeofRtMsg))
	m[0], m[1] = family(to.Is6()), byte(to.BitLen()) // rtm_family, rtm_dst_len
	if from.IsValid() {
		m[2] = byte(from.BitLen()) // rtm_src_len
	}
	m = attribute(m, unix.RTA_DST, to.AsSlice())
	if from.IsValid() {
		m = attribute(m, unix.RTA_SRC, from.AsSlice())
	}
	answers, err := execute(h.kernel.request(unix.RTM_GETROUTE, 0, []nl.NetlinkRequestData{m}), unix.NETLINK_ROUTE, unix.RTM_NEWROUTE)
	if err == nil && len(answers) == 0 {
		err = unix.ENETUNREACH
	}
	if err == nil {
		var r Route
		if r, err = parseRoute(answers[0]); err == nil {
			return r, nil
		}
	}
	return Route{}, fmt.Errorf("link: route from %s to %s: %w", from, to, err)
}

// parseRoute reads the payload of an RTM_NEWROUTE message that answers a question for one route.
func parseRoute(b []byte) (Route, error) {
	if len(b) < unix.SizeofRtMsg {
		return Route{}, fmt.Errorf("route message of %d bytes, want %d or more", len(b), unix.SizeofRtMsg)
	}
	attrs, err := attributes(b[unix.SizeofRtMsg:])
	if err != nil {
		return Route{}, err
	}
	if v := attrs[unix.RTA_OIF]; len(v) == 4 && (b[7] == unix.RTN_UNICAST || b[7] == unix.RTN_LOCAL) {
		return Route{Index: int(binary.NativeEndian.Uint32(v)), Via: routerIn(attrs)}, nil
	}
	return Route{}, unix.ENETUNREACH
}

// Rule is a rule of the kernel's routing policy (ip-rule(8)).
type Rule struct {
	Priority uint32
	From, To netip.Prefix // not valid: any
	Table    uint32       // in which a route is looked up
	Plain    bool         // it looks up a table, and goes by nothing else than From and To
}

// Rules lists the rules of a family in the order in which the kernel goes by them.
func (h *Handle) Rules(v6 bool) ([]Rule, error) {
	var msgs [][]byte
	var err error
	ask := message(make([]byte, sizeofRuleHdr))
	ask[0] = family(v6)
	onOwnStack(func() { msgs, err = h.kernel.dump(unix.RTM_GETRULE, unix.RTM_NEWRULE, ask) })
	if err != nil {
		return nil, fmt.Errorf("link: list rules: %w", err)
	}
	var out []Rule
	for _, m := range msgs {
		r, err := parseRule(m)
		if err != nil {
			return nil, fmt.Errorf("link: list rules: %w", err)
		}
		out = append(out, r)
	}
	return out, nil
}

const sizeofRuleHdr = 12 // struct fib_rule_hdr

// parseRule reads the payload of an RTM_NEWRULE message.
func parseRule(b []byte) (Rule, error) {
	if len(b) < sizeofRuleHdr {
		return Rule{}, fmt.Errorf("rule message of %d bytes, want %d or more", len(b), sizeofRuleHdr)
	}
	attrs, err := attributes(b[sizeofRuleHdr:])
	if err != nil {
		return Rule{}, err
	}
	// tos, action and flags of the header
	r := Rule{Table: uint32(b[4]), Plain: b[3] == 0 && b[7] == unix.FR_ACT_TO_TBL && binary.NativeEndian.Uint32(b[8:])&unix.FIB_RULE_INVERT == 0}
	r.From = prefixIn(attrs[unix.FRA_SRC], b[2])
	r.To = prefixIn(attrs[unix.FRA_DST], b[1])
	if v := attrs[unix.FRA_PRIORITY]; len(v) == 4 {
		r.Priority = binary.NativeEndian.Uint32(v)
	}
	if v := attrs[unix.FRA_TABLE]; len(v) == 4 {
		r.Table = binary.NativeEndian.Uint32(v)
	}
	for _, further := range []uint16{
		unix.FRA_IIFNAME, unix.FRA_OIFNAME, unix.FRA_FWMARK, unix.FRA_UID_RANGE, unix.FRA_IP_PROTO, unix.FRA_SPORT_RANGE, unix.FRA_DPORT_RANGE,
	} {
		r.Plain = r.Plain && attrs[further] == nil
	}
	for _, v := range attrs[unix.FRA_L3MDEV] {
		r.Plain = r.Plain && v == 0
	}
	return r, nil
}

// prefixIn is not valid where a rule goes by none.
func prefixIn(b []byte, bits byte) netip.Prefix {
	a, ok := netip.AddrFromSlice(b)
	if !ok || bits == 0 || int(bits) > a.BitLen() {
		return netip.Prefix{}
	}
	return netip.PrefixFrom(a, int(bits))
}
