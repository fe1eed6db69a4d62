package spreadtables

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"slices"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// A connection that this host translates has no socket here, so nothing tells its client that the member is gone, or that the address is
// leaving. What ends it is that connection tracking forgets it: all that the client says from then on belongs to no connection, and is answered
// by a reset, here or where the address is. A client that is silent is asked: a segment far out of its window, from the address, has it
// say where it is (RFC 9293 section 3.10.7.4), and the answer to that is the reset.

// End ends the connections to the addresses that this node translates to these members, and tells the clients; without members those to all.
// It returns how many there were. Without Masquerade there are none.
func (t *Tables) End(members ...netip.Addr) (int, error) {
	t.mu.Lock()
	applied := t.applied
	t.mu.Unlock()
	if applied == nil || !applied.Masquerade {
		return 0, nil
	}
	n, err := applied.end(members)
	return n, t.wrap("end connections of", err)
}

// Served are the connections that this node translates, by the member that each goes to.
func (t *Tables) Served() (map[netip.Addr]int, error) {
	t.mu.Lock()
	applied := t.applied
	t.mu.Unlock()
	out := map[netip.Addr]int{}
	if applied == nil || !applied.Masquerade {
		return out, nil
	}
	err := applied.dump(func(p Port, message []byte) {
		if applied.serves(message, p) {
			out[address(attribute(message[4:], ctReply), ip4Src, ip6Src)]++
		}
	})
	return out, t.wrap("count connections of", err)
}

// dump goes through the connections to all ports, in the families of the addresses.
func (c *Config) dump(do func(p Port, message []byte)) error {
	for _, f := range []family{ipv4(), ipv6()} {
		if len(f.all(c.Addresses)) == 0 {
			continue
		}
		for _, p := range c.Ports {
			if err := each(f.number, p, func(message []byte) { do(p, message) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// IPCTNL_MSG_CT_DELETE, CTA_ZONE and CTA_PROTO_SRC_PORT.
const (
	ctDelete = 2
	ctZone   = 18
	protoSrc = 2
)

// forgotten is a connection that is to end.
type forgotten struct {
	family   byte
	original []byte // its tuple
	zone     []byte // nil: that of all

	tcp             bool
	client, address netip.AddrPort
}

func (c *Config) end(members []netip.Addr) (int, error) {
	var list []forgotten
	err := c.dump(func(p Port, message []byte) {
		if !c.serves(message, p) {
			return
		}
		body := message[4:]
		original := attribute(body, ctOriginal)
		if len(members) > 0 && !slices.Contains(members, address(attribute(body, ctReply), ip4Src, ip6Src)) {
			return
		}
		port := attribute(original, tupleProto, protoSrc)
		if len(port) != 2 {
			return
		}
		list = append(list, forgotten{
			family: message[0], original: slices.Clone(original), zone: slices.Clone(attribute(body, ctZone)), tcp: p.Protocol == unix.IPPROTO_TCP,
			client:  netip.AddrPortFrom(address(original, ip4Src, ip6Src), binary.BigEndian.Uint16(port)),
			address: netip.AddrPortFrom(address(original, ip4Dst, ip6Dst), p.Port),
		})
	})
	if err != nil || len(list) == 0 {
		return 0, err
	}
	return len(list), errors.Join(forget(list), poke(list))
}

// deletesAtOnce is how many connections are named in one message to the kernel.
const deletesAtOnce = 64

// forget has connection tracking forget connections. Those that have ended meanwhile are no error.
func forget(list []forgotten) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_NETFILTER)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	for part := range slices.Chunk(list, deletesAtOnce) {
		var all []byte
		for _, c := range part {
			m, err := c.deletion()
			if err != nil {
				return err
			}
			all = append(all, m...)
		}
		if err := unix.Sendto(fd, all, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
			return err
		}
	}
	return nil
}

func (c forgotten) deletion() ([]byte, error) {
	ae := netlink.NewAttributeEncoder()
	ae.Bytes(unix.NLA_F_NESTED|ctOriginal, c.original)
	if c.zone != nil {
		ae.Bytes(ctZone, c.zone)
	}
	attributes, err := ae.Encode()
	if err != nil {
		return nil, err
	}
	m := netlink.Message{
		Header: netlink.Header{
			Length: uint32(unix.NLMSG_HDRLEN + 4 + len(attributes)), Type: unix.NFNL_SUBSYS_CTNETLINK<<8 | ctDelete, Flags: netlink.Request,
		},
		Data: append([]byte{c.family, unix.NFNETLINK_V0, 0, 0}, attributes...),
	}
	return m.MarshalBinary()
}
