package lab

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// ForgeSYNs builds Ethernet frames with which the peer begins so many TCP connections at the target, over IPv4, that nobody goes on with.
// They are from addresses behind the router (10.97.0.128/25), and answers to them are lost there: see [Lab.LoseBehindRouter].
func (p *Peer) ForgeSYNs(to net.HardwareAddr, target netip.AddrPort, count int) [][]byte {
	frames := make([][]byte, count)
	for i := range frames {
		from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 97, 0, byte(128 + rand.N(127))}), uint16(1024+rand.N(60000)))
		b := binary.BigEndian.AppendUint16(nil, from.Port())
		b = binary.BigEndian.AppendUint16(b, target.Port())
		b = binary.BigEndian.AppendUint32(b, rand.Uint32())
		b = append(b, 0, 0, 0, 0, 5<<4, 0x02, 0xff, 0xff, 0, 0, 0, 0)
		binary.BigEndian.PutUint16(b[16:], pseudoChecksum(from.Addr(), target.Addr(), unix.IPPROTO_TCP, b))
		frames[i] = ipFrame(ends{fromMAC: p.MAC, toMAC: to}, from.Addr(), target.Addr(), unix.IPPROTO_TCP, 64, b)
	}
	return frames
}

// LoseBehindRouter has the router lose what goes to the addresses of [Peer.ForgeSYNs].
func (l *Lab) LoseBehindRouter() error {
	if l.Router == nil {
		return fmt.Errorf("lab: no router: the lab was opened without OffLink")
	}
	_, err := l.Router.Run("ip", "route", "replace", "blackhole", "10.97.0.128/25")
	return err
}
