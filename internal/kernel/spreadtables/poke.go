package spreadtables

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/sockaddr"
	"github.com/keepvip/keepvip/internal/kernel/conntrack"
)

// clientsOf are those of the connections of TCP that are open.
func clientsOf(list []conntrack.Entry) (out []Client) {
	for _, c := range list {
		if c.Open() {
			out = append(out, Client{At: c.Source, To: c.Dest})
		}
	}
	return out
}

// errNotSent is for a client that nothing could be sent to.
var errNotSent = errors.New("a client is not told")

// Poke sends each client a segment out of its window, in the name of the address: a client that has such a connection says where it is, and is
// answered by a reset if no member knows the connection. The segment says that it is the last one: Linux answers each such, and of mere
// acknowledgments one in half a second (tcp_oow_rate_limited), so that a client whose first answer was lost would say no more. What connection tracking makes
// of it would be a connection that nobody has begun, so it carries a mark by which that looks away (the chain pokes).
func Poke(clients []Client) error {
	var failure error
	sockets := map[int]int{} // by family
	defer func() {
		for _, fd := range sockets {
			_ = unix.Close(fd)
		}
	}()
	for _, c := range clients {
		client := c.At.Addr()
		family := sockaddr.Family(client)
		fd, open := sockets[family]
		if !open {
			var err error
			// Of this protocol the caller gives the header of IP, too.
			if fd, err = unix.Socket(family, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.IPPROTO_RAW); err != nil {
				return err
			}
			sockets[family] = fd
		}
		// A client that cannot be reached learns of it by what it says next.
		if err := unix.Sendto(fd, outOfWindow(c.To, c.At, rand.Uint32()), 0, sockaddr.Of(client, 0, 0)); err != nil && failure == nil {
			failure = fmt.Errorf("%w: %s: %w", errNotSent, client, err)
		}
	}
	return failure
}

// outOfWindow is a packet that ends and acknowledges, and has no data. Its number is in the client's window by a chance of one in thousands, and what
// it ends then has lost its server.
func outOfWindow(from, to netip.AddrPort, number uint32) []byte {
	segment := make([]byte, 20)
	binary.BigEndian.PutUint16(segment, from.Port())
	binary.BigEndian.PutUint16(segment[2:], to.Port())
	binary.BigEndian.PutUint32(segment[4:], number)
	segment[12], segment[13] = 5<<4, fin|ack
	source, dest := from.Addr().AsSlice(), to.Addr().AsSlice()
	var sum uint32
	add := func(b []byte) {
		for i := 0; i+1 < len(b); i += 2 {
			sum += uint32(binary.BigEndian.Uint16(b[i:]))
		}
	}
	add(source)
	add(dest)
	add(segment)
	sum += unix.IPPROTO_TCP + uint32(len(segment))
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	binary.BigEndian.PutUint16(segment[16:], ^uint16(sum))
	if from.Addr().Is4() {
		header := make([]byte, 20, 40) // the kernel adds its identification and checksum
		header[0], header[1], header[3], header[8], header[9] = 4<<4|5, markLast<<2, 40, 64, unix.IPPROTO_TCP
		copy(header[12:], source)
		copy(header[16:], dest)
		return append(header, segment...)
	}
	header := make([]byte, 40, 60)
	binary.BigEndian.PutUint32(header, 6<<28|markLast<<22)
	header[5], header[6], header[7] = byte(len(segment)), unix.IPPROTO_TCP, 64
	copy(header[8:], source)
	copy(header[24:], dest)
	return append(header, segment...)
}
