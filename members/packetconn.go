//go:build linux

package members

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/arrival"
	"github.com/keepvip/keepvip/internal/base/nonblock"
)

// packetConn is a UDP socket of either family that receives.
type packetConn struct {
	conn    net.PacketConn
	raw     syscall.RawConn
	v4      bool
	oob     []byte    // of the goroutine that reads
	emptied time.Time // when it last saw the queue empty: nothing in it is older

	taking sync.Mutex // held from when a datagram was taken until the next is asked for
	holds  bool       // taking, by the goroutine that reads
}

// newPacketConn has the kernel tell the TTL and the time of what comes in. It owns c from now on, unless it fails.
func newPacketConn(c net.PacketConn, v4 bool) (*packetConn, error) {
	udp, ok := c.(*net.UDPConn)
	if !ok {
		return nil, fmt.Errorf("socket is a %T", c)
	}
	raw, err := udp.SyscallConn()
	if err != nil {
		return nil, err
	}
	p := &packetConn{conn: c, raw: raw, v4: v4, oob: make([]byte, 128), emptied: time.Now()}
	if v4 {
		err = ipv4.NewPacketConn(c).SetControlMessage(ipv4.FlagTTL, true)
	} else {
		err = ipv6.NewPacketConn(c).SetControlMessage(ipv6.FlagHopLimit, true)
	}
	if err != nil {
		return nil, err
	}
	if control := raw.Control(func(fd uintptr) { err = arrival.Enable(int(fd)) }); control != nil {
		return nil, control
	}
	return p, err
}

func (p *packetConn) join(ifi *net.Interface, group netip.Addr) error {
	to := &net.UDPAddr{IP: group.AsSlice()}
	if p.v4 {
		return ipv4.NewPacketConn(p.conn).JoinGroup(ifi, to)
	}
	return ipv6.NewPacketConn(p.conn).JoinGroup(ifi, to)
}

// read waits for a datagram, and puts it into b. Its TTL is 0 where the kernel does not say. One goroutine may be in it.
func (p *packetConn) read(b []byte) (a Arrival, err error) {
	p.done()
	waiting := p.raw.Read(func(fd uintptr) bool {
		p.taking.Lock()
		p.holds = true
		for {
			a, err = p.receive(int(fd), b)
			switch err {
			case unix.EINTR:
			case unix.EAGAIN:
				p.emptied = time.Now()
				p.done()
				return false
			default:
				return true
			}
		}
	})
	if waiting != nil {
		return Arrival{}, waiting
	}
	return a, err
}

// done lets others know that what was taken has been looked at.
func (p *packetConn) done() {
	if p.holds {
		p.holds = false
		p.taking.Unlock()
	}
}

// behind tells whether something has come in that was not read yet. It waits until what was read has been looked at.
func (p *packetConn) behind() bool {
	p.taking.Lock()
	defer p.taking.Unlock()
	waits := 0
	_ = p.raw.Control(func(fd uintptr) { waits, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) }) // a socket that is closed has nothing
	return waits > 0
}

func (p *packetConn) receive(fd int, b []byte) (Arrival, error) {
	n, oobn, from, err := nonblock.Recvmsg(fd, b, p.oob)
	if err != nil {
		return Arrival{}, err
	}
	now := time.Now()
	a := Arrival{Length: n, Source: from.Addr().Unmap().WithZone(""), port: from.Port()}
	var timestamp time.Time
	for oob := p.oob[:oobn]; len(oob) > 0; {
		header, data, rest, err := unix.ParseOneSocketControlMessage(oob)
		if err != nil {
			break
		}
		oob = rest
		level, typ := int(header.Level), int(header.Type)
		hops := level == unix.IPPROTO_IP && typ == unix.IP_TTL || level == unix.IPPROTO_IPV6 && typ == unix.IPV6_HOPLIMIT
		if at, ok := arrival.Timestamp(level, typ, data); ok {
			timestamp = at
		} else if hops && len(data) >= 4 {
			a.TTL = int(int32(binary.NativeEndian.Uint32(data)))
		}
	}
	a.At = now.Add(-arrival.Age(timestamp, now, p.emptied))
	return a, nil
}

// Close wakes read.
func (p *packetConn) Close() error { return p.conn.Close() }
