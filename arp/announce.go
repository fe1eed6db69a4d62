package arp

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/mdlayher/arp"
)

// announcement is every frame that announces addrs from mac, in the order of addrs: for IPv4 the request form, then the reply form; for
// IPv6 one neighbour advertisement, with the Router flag if router.
func announcement(mac net.HardwareAddr, router bool, addrs []netip.Addr) ([][]byte, error) {
	frames := make([][]byte, 0, 2*len(addrs))
	for _, addr := range addrs {
		fs, err := announcementOf(mac, router, addr)
		if err != nil {
			return nil, fmt.Errorf("announcement of %s: %w", addr, err)
		}
		frames = append(frames, fs...)
	}
	return frames, nil
}

func announcementOf(mac net.HardwareAddr, router bool, addr netip.Addr) ([][]byte, error) {
	if !addr.Is4() {
		na, err := unsolicitedNA(mac, addr, router)
		return [][]byte{na}, err
	}
	request, err := gratuitousARP(arp.OperationRequest, mac, addr)
	if err != nil {
		return nil, err
	}
	reply, err := gratuitousARP(arp.OperationReply, mac, addr)
	return [][]byte{request, reply}, err
}
