package kubeadm

import (
	"net"
	"net/netip"
	"strings"
)

// splitEndpoint takes host and port apart; the port is "" where there is none. IPv6 may stand in brackets.
func splitEndpoint(s string) (host, port string) {
	if _, err := netip.ParseAddr(s); err == nil {
		return s, ""
	}
	if host, port, err := net.SplitHostPort(s); err == nil {
		return host, port
	}
	return strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"), ""
}
