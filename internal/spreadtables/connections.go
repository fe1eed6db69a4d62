package spreadtables

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Connections is how many connections to each port that is spread this node serves, by its connection tracking: those of TCP that are open
// at one end at least, and the flows of UDP. The kernel goes through all that it tracks for it, which may take long.
func (t *Tables) Connections() (map[Port]int, error) {
	t.mu.Lock()
	applied := t.applied
	t.mu.Unlock()
	if applied == nil {
		return nil, t.wrap("count connections of", errors.New("nothing was applied yet"))
	}
	out := make(map[Port]int, len(applied.Ports))
	for _, f := range []family{ipv4(), ipv6()} {
		if len(f.all(applied.Addresses)) == 0 {
			continue
		}
		for _, p := range applied.Ports {
			n, err := applied.count(f.number, p)
			if err != nil {
				return nil, t.wrap("count connections of", err)
			}
			out[p] += n
		}
	}
	return out, nil
}

// The attributes of connection tracking (linux/netfilter/nfnetlink_conntrack.h).
const (
	ctGet = 1 // IPCTNL_MSG_CT_GET

	ctOriginal  = 1  // CTA_TUPLE_ORIG
	ctReply     = 2  // CTA_TUPLE_REPLY
	ctProtoInfo = 4  // CTA_PROTOINFO
	ctFilter    = 25 // CTA_FILTER, since Linux 5.8; older kernels say more than was asked for

	filterOriginal = 1           // CTA_FILTER_ORIG_FLAGS
	filterPort     = 1<<3 | 1<<5 // CTA_FILTER_F_CTA_PROTO_NUM, CTA_FILTER_F_CTA_PROTO_DST_PORT

	tupleIP    = 1 // CTA_TUPLE_IP
	tupleProto = 2 // CTA_TUPLE_PROTO
	ip4Src     = 1 // CTA_IP_V4_SRC; the others follow
	ip4Dst     = 2
	ip6Src     = 3
	ip6Dst     = 4
	protoNum   = 1 // CTA_PROTO_NUM
	protoDst   = 3 // CTA_PROTO_DST_PORT

	infoTCP  = 1 // CTA_PROTOINFO_TCP
	tcpState = 1 // CTA_PROTOINFO_TCP_STATE
	synRecv  = 2 // TCP_CONNTRACK_SYN_RECV
	lastACK  = 6 // TCP_CONNTRACK_LAST_ACK
)

// replyTimeout bounds the wait for one answer of the kernel.
const replyTimeout = 10 * time.Second

// count asks for all connections to a port, and counts those that are served here. However many there are, few of them are in memory.
func (c *Config) count(family byte, p Port) (n int, err error) {
	err = each(family, p, func(message []byte) {
		if c.serves(message, p) {
			n++
		}
	})
	return n, err
}

// each goes through the connections to a port. A message is valid until the next one.
func each(family byte, p Port, do func(message []byte)) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_NETFILTER)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	timeout := unix.NsecToTimeval(replyTimeout.Nanoseconds())
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout); err != nil {
		return err
	}
	ask, err := dumpOf(family, p)
	if err != nil {
		return err
	}
	if err := unix.Sendto(fd, ask, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 32<<10)
	for {
		size, _, err := unix.Recvfrom(fd, answer, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		messages, err := syscall.ParseNetlinkMessage(answer[:size])
		if err != nil {
			return err
		}
		for _, m := range messages {
			switch {
			case m.Header.Type == unix.NLMSG_DONE:
				return nil
			case m.Header.Type == unix.NLMSG_ERROR && len(m.Data) >= 4:
				return unix.Errno(-int32(binary.NativeEndian.Uint32(m.Data)))
			default:
				do(m.Data)
			}
		}
	}
}

// dumpOf asks for the connections whose first packet went to a port. (By address the kernel does not filter: of IPv6 it leaves out those
// that were asked for, and of IPv4 alone it is not worth it.)
func dumpOf(family byte, p Port) ([]byte, error) {
	ae := netlink.NewAttributeEncoder()
	ae.Nested(ctOriginal, func(ae *netlink.AttributeEncoder) error {
		ae.Nested(tupleProto, func(ae *netlink.AttributeEncoder) error {
			ae.Uint8(protoNum, p.Protocol)
			ae.Bytes(protoDst, big(p.Port))
			return nil
		})
		return nil
	})
	ae.Nested(ctFilter, func(ae *netlink.AttributeEncoder) error {
		ae.Uint32(filterOriginal, filterPort)
		return nil
	})
	attributes, err := ae.Encode()
	if err != nil {
		return nil, err
	}
	m := netlink.Message{
		Header: netlink.Header{
			Length: uint32(unix.NLMSG_HDRLEN + 4 + len(attributes)), Type: unix.NFNL_SUBSYS_CTNETLINK<<8 | ctGet,
			Flags: netlink.Request | netlink.Dump,
		},
		Data: append([]byte{family, unix.NFNETLINK_V0, 0, 0}, attributes...),
	}
	return m.MarshalBinary()
}

// serves tells whether the connection of a message is to an address that is spread and that port, is open, and is served by this node, or with
// Masquerade by way of it.
func (c *Config) serves(message []byte, p Port) bool {
	if len(message) < 4 {
		return false
	}
	body := message[4:]
	original, reply := attribute(body, ctOriginal), attribute(body, ctReply)
	proto, port := attribute(original, tupleProto, protoNum), attribute(original, tupleProto, protoDst)
	if string(proto) != string([]byte{p.Protocol}) || string(port) != string(big(p.Port)) {
		return false
	}
	if state := attribute(body, ctProtoInfo, infoTCP, tcpState); len(state) == 1 && (state[0] < synRecv || state[0] > lastACK) {
		return false
	}
	to, from := address(original, ip4Dst, ip6Dst), address(reply, ip4Src, ip6Src)
	return slices.Contains(c.Addresses, to) && (slices.Contains(c.Self, from) || c.Masquerade)
}

// address is one in a tuple; the zero value if there is none.
func address(tuple []byte, four, six uint16) netip.Addr {
	b := attribute(tuple, tupleIP, four)
	if b == nil {
		b = attribute(tuple, tupleIP, six)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

// attribute is the data of a netlink attribute in attributes, or of one in that; nil if there is none.
func attribute(in []byte, path ...uint16) []byte {
	const header = 4
	for _, want := range path {
		found := false
		for len(in) >= header && !found {
			length, kind := int(binary.NativeEndian.Uint16(in)), binary.NativeEndian.Uint16(in[2:])&^(unix.NLA_F_NESTED|unix.NLA_F_NET_BYTEORDER)
			if length < header || length > len(in) {
				return nil
			}
			if found = kind == want; found {
				in = in[header:length]
				break
			}
			in = in[min((length+3)&^3, len(in)):]
		}
		if !found {
			return nil
		}
	}
	return in
}
