package conntrack

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Entry is one tracked connection.
type Entry struct {
	Protocol uint8 // 6 (TCP), 17 (UDP)
	// Source and Dest are those of its first packet, as the client made it.
	Source, Dest netip.AddrPort
	// Answers is who answers, which is not Dest where the connection was translated.
	Answers netip.AddrPort
	// State is that of TCP, as the kernel numbers them; 0 of another protocol.
	State uint8
	// Zone is the one that a packet filter has put it into; 0: into none.
	Zone uint16
}

// States of TCP (linux/netfilter/nf_conntrack_tcp.h). In between are those of a connection that is open at one end at least.
const (
	SynSent = 1 // nobody has answered yet
	SynRecv = 2
	// Established is that of one that has begun, and that neither end has ended.
	Established = 3
	LastACK     = 6
	TimeWait    = 7
	Closed      = 8
)

// Open tells whether a connection of TCP has been answered, and has not ended at both ends.
func (e Entry) Open() bool { return e.State >= SynRecv && e.State <= LastACK }

// Alive tells whether it is not at its end: of TCP one that begins, or is open, and any of another protocol.
func (e Entry) Alive() bool {
	return e.Protocol != unix.IPPROTO_TCP || e.State == SynSent || e.Open()
}

// The attributes (linux/netfilter/nfnetlink_conntrack.h).
const (
	msgGet    = 1 // IPCTNL_MSG_CT_GET
	msgDelete = 2 // IPCTNL_MSG_CT_DELETE

	attrOriginal  = 1  // CTA_TUPLE_ORIG
	attrReply     = 2  // CTA_TUPLE_REPLY
	attrProtoInfo = 4  // CTA_PROTOINFO
	attrZone      = 18 // CTA_ZONE
	attrFilter    = 25 // CTA_FILTER, since Linux 5.8; older kernels say more than was asked for

	filterOriginal = 1           // CTA_FILTER_ORIG_FLAGS
	filterPort     = 1<<3 | 1<<5 // CTA_FILTER_F_CTA_PROTO_NUM, CTA_FILTER_F_CTA_PROTO_DST_PORT

	tupleIP      = 1 // CTA_TUPLE_IP
	tupleProto   = 2 // CTA_TUPLE_PROTO
	tupleZone    = 3 // CTA_TUPLE_ZONE, of a zone that counts for one direction alone
	ip4Source    = 1 // CTA_IP_V4_SRC; the others follow
	ip4Dest      = 2
	ip6Source    = 3
	ip6Dest      = 4
	protoNumber  = 1 // CTA_PROTO_NUM
	protoSource  = 2 // CTA_PROTO_SRC_PORT
	protoDest    = 3 // CTA_PROTO_DST_PORT
	infoTCP      = 1 // CTA_PROTOINFO_TCP
	infoTCPState = 1 // CTA_PROTOINFO_TCP_STATE
)

// replyTimeout bounds the wait for one answer of the kernel.
const replyTimeout = 10 * time.Second

// Conn is a connection to the kernel. It is for one goroutine.
type Conn struct{ fd int }

// Open opens one.
func Open() (*Conn, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_NETFILTER)
	if err != nil {
		return nil, fmt.Errorf("conntrack: open: %w", err)
	}
	timeout := unix.NsecToTimeval(replyTimeout.Nanoseconds())
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout); err != nil {
		return nil, errors.Join(fmt.Errorf("conntrack: open: %w", err), unix.Close(fd))
	}
	return &Conn{fd}, nil
}

// Close waits until what was deleted of nftables before is out of use by every processor, whoever has deleted it.
func (c *Conn) Close() { _ = unix.Close(c.fd) }

// Each calls do with each connection of a family (NFPROTO_IPV4 or NFPROTO_IPV6) whose first packet went to that port. The kernel goes through
// all that it tracks for it, and few of them are in memory at once. do must not use the Conn.
func (c *Conn) Each(family, protocol uint8, port uint16, do func(Entry)) error {
	ask, err := request(msgGet, family, netlink.Dump, func(ae *netlink.AttributeEncoder) { ofPort(ae, protocol, port) })
	if err == nil {
		err = c.exchange(ask, func(body []byte) {
			if e, ok := parse(body); ok && e.Protocol == protocol && e.Dest.Port() == port {
				do(e)
			}
		})
	}
	if err != nil {
		return fmt.Errorf("conntrack: list: %w", err)
	}
	return nil
}

// ofPort asks for the connections whose first packet went to a port. (By address the kernel does not filter: of IPv6 it leaves out those that
// were asked for, and of IPv4 alone it is not worth it.)
func ofPort(ae *netlink.AttributeEncoder, protocol uint8, port uint16) {
	ae.Nested(attrOriginal, func(ae *netlink.AttributeEncoder) error {
		ae.Nested(tupleProto, func(ae *netlink.AttributeEncoder) error {
			ae.Uint8(protoNumber, protocol)
			ae.Bytes(protoDest, binary.BigEndian.AppendUint16(nil, port))
			return nil
		})
		return nil
	})
	ae.Nested(attrFilter, func(ae *netlink.AttributeEncoder) error {
		ae.Uint32(filterOriginal, filterPort)
		return nil
	})
}

// deletesAtOnce is how many connections are named in one message to the kernel: what it says of them has to fit into the socket's buffer.
const deletesAtOnce = 64

// Delete has the kernel forget connections: the next packet of each is the first of a new one. There may be none like them any more.
func (c *Conn) Delete(entries ...Entry) error {
	for part := range slices.Chunk(entries, deletesAtOnce) {
		var ask []byte
		for _, e := range part {
			one, err := e.deletion()
			if err != nil {
				return err
			}
			ask = append(ask, one...)
		}
		if err := c.tell(ask); err != nil {
			return fmt.Errorf("conntrack: delete: %w", err)
		}
	}
	return nil
}

// tell sends requests that have no answer but an error. The kernel has carried them out when it has taken them.
func (c *Conn) tell(ask []byte) error {
	if err := unix.Sendto(c.fd, ask, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	var failure error
	answer := make([]byte, 8<<10)
	for {
		size, _, err := unix.Recvfrom(c.fd, answer, unix.MSG_DONTWAIT)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return failure
		case err != nil:
			return errors.Join(failure, err)
		}
		messages, err := syscall.ParseNetlinkMessage(answer[:size])
		if err != nil {
			return errors.Join(failure, err)
		}
		for _, m := range messages {
			if err := refusal(m); failure == nil && !errors.Is(err, unix.ENOENT) {
				failure = err
			}
		}
	}
}

// refusal is the error that a message says; nil: none.
func refusal(m syscall.NetlinkMessage) error {
	if m.Header.Type != unix.NLMSG_ERROR && m.Header.Type != unix.NLMSG_DONE || len(m.Data) < 4 {
		return nil
	}
	if code := -int32(binary.NativeEndian.Uint32(m.Data)); code > 0 {
		return unix.Errno(code)
	}
	return nil
}

func (e Entry) deletion() ([]byte, error) {
	if e.Source.Addr().Is4() != e.Dest.Addr().Is4() || !e.Source.IsValid() || !e.Dest.IsValid() {
		return nil, fmt.Errorf("conntrack: delete %s to %s: want addresses of one family", e.Source, e.Dest)
	}
	family := byte(unix.NFPROTO_IPV6)
	if e.Dest.Addr().Is4() {
		family = unix.NFPROTO_IPV4
	}
	return request(msgDelete, family, 0, func(ae *netlink.AttributeEncoder) {
		ae.Nested(attrOriginal, e.tuple)
		if e.Zone != 0 {
			ae.Bytes(attrZone, binary.BigEndian.AppendUint16(nil, e.Zone))
		}
	})
}

func (e Entry) tuple(ae *netlink.AttributeEncoder) error {
	ae.Nested(tupleIP, func(ae *netlink.AttributeEncoder) error {
		source, dest := uint16(ip4Source), uint16(ip4Dest)
		if e.Dest.Addr().Is6() {
			source, dest = ip6Source, ip6Dest
		}
		ae.Bytes(source, e.Source.Addr().AsSlice())
		ae.Bytes(dest, e.Dest.Addr().AsSlice())
		return nil
	})
	ae.Nested(tupleProto, func(ae *netlink.AttributeEncoder) error {
		ae.Uint8(protoNumber, e.Protocol)
		ae.Bytes(protoSource, binary.BigEndian.AppendUint16(nil, e.Source.Port()))
		ae.Bytes(protoDest, binary.BigEndian.AppendUint16(nil, e.Dest.Port()))
		return nil
	})
	return nil
}

func request(kind, family uint8, flags netlink.HeaderFlags, attributes func(*netlink.AttributeEncoder)) ([]byte, error) {
	ae := netlink.NewAttributeEncoder()
	attributes(ae)
	data, err := ae.Encode()
	if err != nil {
		return nil, err
	}
	m := netlink.Message{
		Header: netlink.Header{
			Length: uint32(unix.NLMSG_HDRLEN + 4 + len(data)), Type: netlink.HeaderType(unix.NFNL_SUBSYS_CTNETLINK<<8 | uint16(kind)),
			Flags: netlink.Request | flags,
		},
		Data: append([]byte{family, unix.NFNETLINK_V0, 0, 0}, data...),
	}
	return m.MarshalBinary()
}

// exchange sends a request, and gives the attributes of each answer to each, up to the last.
func (c *Conn) exchange(ask []byte, each func(body []byte)) error {
	if err := unix.Sendto(c.fd, ask, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 32<<10)
	for {
		size, _, err := unix.Recvfrom(c.fd, answer, 0)
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
			case m.Header.Type == unix.NLMSG_DONE || m.Header.Type == unix.NLMSG_ERROR:
				return refusal(m)
			case len(m.Data) >= 4:
				each(m.Data[4:])
			}
		}
	}
}
