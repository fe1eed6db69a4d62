package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// subnetMetric is worse than that of a route which Linux makes for an own address: such a one counts first.
const subnetMetric = 1024

// RouteSubnet makes the IPv4 subnet of an address that is bound reachable by the interface, from that address, as Linux does for an address
// that brings its subnet. The kernel takes the route away with the address. One that is there is no error. It needs CAP_NET_ADMIN.
func (h *Handle) RouteSubnet(index int, p netip.Prefix) error {
	if err := validate(index, p); err != nil || !p.Addr().Is4() {
		return errors.Join(fmt.Errorf("link: route %s by interface %d: want an IPv4 address with its subnet", p, index), err)
	}
	source, subnet := p.Addr().As4(), p.Masked().Addr().As4()
	m := &nl.RtMsg{RtMsg: unix.RtMsg{
		Family: unix.AF_INET, Dst_len: uint8(p.Bits()), Table: unix.RT_TABLE_MAIN, Protocol: Protocol,
		Scope: unix.RT_SCOPE_LINK, Type: unix.RTN_UNICAST,
	}}
	r := h.request(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_EXCL|unix.NLM_F_ACK, []nl.NetlinkRequestData{
		m, nl.NewRtAttr(unix.RTA_DST, subnet[:]), nl.NewRtAttr(unix.RTA_PREFSRC, source[:]),
		nl.NewRtAttr(unix.RTA_OIF, binary.NativeEndian.AppendUint32(nil, uint32(index))),
		nl.NewRtAttr(unix.RTA_PRIORITY, binary.NativeEndian.AppendUint32(nil, subnetMetric)),
	})
	var answers []error
	var err error
	onOwnStack(func() { answers, err = h.pipeline([]*nl.NetlinkRequest{r}) })
	if err == nil && !errors.Is(answers[0], unix.EEXIST) {
		err = answers[0]
	}
	if err != nil {
		return fmt.Errorf("link: route %s by interface %d: %w", p.Masked(), index, err)
	}
	return nil
}
