package gather

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// tryToSend asks the kernel whether VRRP and the members' messages may leave by ifi: the packets go to VRRP's group with TTL or hop limit 0, so
// they pass the rules for what this host sends, and end there. Only a refusal by such a rule is an error.
func tryToSend(ifi net.Interface, ipv4 bool, port uint16) (vrrp, members error) {
	vrrp = tryOne(ifi, ipv4, unix.SOCK_RAW, protoVRRP, 0)
	if port != 0 {
		members = tryOne(ifi, ipv4, unix.SOCK_DGRAM, unix.IPPROTO_UDP, port)
	}
	return vrrp, members
}

func tryOne(ifi net.Interface, ipv4 bool, kind, protocol int, port uint16) error {
	family := unix.AF_INET6
	if ipv4 {
		family = unix.AF_INET
	}
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, protocol)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	if err := unix.SetsockoptString(fd, unix.SOL_SOCKET, unix.SO_BINDTODEVICE, ifi.Name); err != nil {
		return nil
	}
	to, err := endsHere(fd, ifi.Index, ipv4, port)
	if err != nil {
		return nil
	}
	if err := unix.Sendto(fd, make([]byte, 8), 0, to); errors.Is(err, unix.EPERM) {
		return err
	}
	return nil
}

// endsHere sets a socket so that what it sends to VRRP's group does not leave this host. The kernel looks at a TTL of 0 only where the group
// was joined, so it is joined.
func endsHere(fd, index int, ipv4 bool, port uint16) (unix.Sockaddr, error) {
	if !ipv4 {
		group := [16]byte{0: 0xff, 1: 0x02, 15: 0x12}
		return &unix.SockaddrInet6{Addr: group, ZoneId: uint32(index), Port: int(port)}, errors.Join(
			unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_IF, index),
			unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_HOPS, 0),
			unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_LOOP, 1), // without it the hop limit is not looked at
			unix.SetsockoptIPv6Mreq(fd, unix.IPPROTO_IPV6, unix.IPV6_JOIN_GROUP, &unix.IPv6Mreq{Multiaddr: group, Interface: uint32(index)}),
		)
	}
	group := [4]byte{224, 0, 0, 18}
	member := &unix.IPMreqn{Multiaddr: group, Ifindex: int32(index)}
	return &unix.SockaddrInet4{Addr: group, Port: int(port)}, errors.Join(
		unix.SetsockoptIPMreqn(fd, unix.IPPROTO_IP, unix.IP_MULTICAST_IF, &unix.IPMreqn{Ifindex: int32(index)}),
		unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_MULTICAST_TTL, 0),
		unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_MULTICAST_LOOP, 0),
		unix.SetsockoptIPMreqn(fd, unix.IPPROTO_IP, unix.IP_ADD_MEMBERSHIP, member),
	)
}
