package link

import (
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// HasLocalRoute reports whether this host takes packets for a, as it does some time after Add of an IPv6 address: the kernel puts its
// route in beside, on a busy machine ten and more milliseconds later.
func (h *Handle) HasLocalRoute(a netip.Addr) (bool, error) {
	m := message{family(a.Is6()), byte(a.BitLen()), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0} // struct rtmsg
	m = attribute(m, unix.RTA_DST, a.AsSlice())
	answers, err := execute(h.kernel.request(unix.RTM_GETROUTE, 0, []nl.NetlinkRequestData{m}), unix.NETLINK_ROUTE, unix.RTM_NEWROUTE)
	if err != nil {
		return false, fmt.Errorf("link: route to %s: %w", a, err)
	}
	const kind = 7 // rtm_type
	return len(answers) > 0 && len(answers[0]) > kind && answers[0][kind] == unix.RTN_LOCAL, nil
}
