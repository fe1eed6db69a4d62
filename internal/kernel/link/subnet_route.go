package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// subnetMetric is worse than that of a route which Linux makes for an own address, and than what `ip -6 route add` takes by itself: such a one
// counts first.
const subnetMetric = 1025

// RouteSubnet makes the subnet of an address that is bound reachable by the interface, as Linux does for an address that brings its subnet. One that is
// there is no error. It needs CAP_NET_ADMIN.
//
// An IPv4 route has the address as its source, and the kernel takes it away with that. One of IPv6 ends after valid (whole seconds, rounded up; 0 is for
// ever), unless it is asked for again, or by UnrouteSubnet.
func (h *Handle) RouteSubnet(index int, p netip.Prefix, valid time.Duration) error {
	seconds, err := lifetime(valid)
	if err = errors.Join(err, validate(index, p)); err != nil {
		return fmt.Errorf("link: route %s by interface %d: %w", p, index, err)
	}
	flags := unix.NLM_F_CREATE | unix.NLM_F_ACK // without NLM_F_EXCL the kernel sets the lifetime of an IPv6 route that is there
	data := subnetRoute(index, p)
	switch {
	case p.Addr().Is4():
		flags |= unix.NLM_F_EXCL
		data = append(data, nl.NewRtAttr(unix.RTA_PREFSRC, p.Addr().AsSlice()))
	case seconds != forever:
		data = append(data, nl.NewRtAttr(unix.RTA_EXPIRES, binary.NativeEndian.AppendUint32(nil, seconds)))
	}
	err = h.kernel.acknowledged(h.kernel.request(unix.RTM_NEWROUTE, flags, data))
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("link: route %s by interface %d: %w", p.Masked(), index, err)
	}
	return nil
}

// UnrouteSubnet ends what RouteSubnet has begun. A route that is not there is no error, and neither is an interface that is gone.
func (h *Handle) UnrouteSubnet(index int, p netip.Prefix) error {
	if err := validate(index, p); err != nil {
		return fmt.Errorf("link: remove the route to %s by interface %d: %w", p, index, err)
	}
	err := h.kernel.acknowledged(h.kernel.request(unix.RTM_DELROUTE, unix.NLM_F_ACK, subnetRoute(index, p)))
	if err != nil && !errors.Is(err, unix.ESRCH) && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("link: remove the route to %s by interface %d: %w", p.Masked(), index, err)
	}
	return nil
}

// subnetRoute is what tells the route to the subnet of p from all others.
func subnetRoute(index int, p netip.Prefix) []nl.NetlinkRequestData {
	m := &nl.RtMsg{RtMsg: unix.RtMsg{
		Family: family(p.Addr().Is6()), Dst_len: uint8(p.Bits()), Table: unix.RT_TABLE_MAIN, Protocol: protocol, Type: unix.RTN_UNICAST,
	}}
	if p.Addr().Is4() {
		m.Scope = unix.RT_SCOPE_LINK
	}
	return []nl.NetlinkRequestData{
		m, nl.NewRtAttr(unix.RTA_DST, p.Masked().Addr().AsSlice()),
		nl.NewRtAttr(unix.RTA_OIF, binary.NativeEndian.AppendUint32(nil, uint32(index))),
		nl.NewRtAttr(unix.RTA_PRIORITY, binary.NativeEndian.AppendUint32(nil, subnetMetric)),
	}
}

// acknowledged sends a request and returns the kernel's answer.
func (k kernel) acknowledged(r *nl.NetlinkRequest) error {
	var answers []error
	var err error
	onOwnStack(func() { answers, err = k.pipeline([]*nl.NetlinkRequest{r}) })
	if err != nil {
		return err
	}
	return answers[0]
}
