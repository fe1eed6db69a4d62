package lab

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// Forgery describes a VRRP packet to send by hand, good or bad. The zero
// values of the fields from TTL on make a good one.
type Forgery struct {
	Source    netip.Addr
	Version   int // 2 or 3
	VRID      int
	Priority  int
	Interval  time.Duration
	Addresses []netip.Addr
	Auth      [8]byte // VRRPv2
	AuthType  byte

	TTL       byte // 0 = 255
	FlipSum   bool // a checksum that is wrong by one bit
	Cut       int  // octets missing at the end
	CountDiff int  // added to the count of addresses
}

// Forge builds the Ethernet frame of a packet to the VRRP group as the peer
// would send it. The checksum of version 3 covers the pseudo-header.
func (p *Peer) Forge(f Forgery) []byte {
	group, mac := vrrpGroup()
	if f.Source.Is6() {
		group, mac = netip.MustParseAddr("ff02::12"), net.HardwareAddr{0x33, 0x33, 0, 0, 0, 0x12}
	}
	b := []byte{byte(f.Version)<<4 | 1, byte(f.VRID), byte(f.Priority), byte(len(f.Addresses) + f.CountDiff)}
	if f.Version == 2 {
		b = append(b, f.AuthType, byte(f.Interval/time.Second))
	} else {
		b = binary.BigEndian.AppendUint16(b, uint16(f.Interval/(10*time.Millisecond)))
	}
	b = append(b, 0, 0)
	for _, a := range f.Addresses {
		b = append(b, a.AsSlice()...)
	}
	sum := pseudoChecksum(f.Source, group, protoVRRP, b)
	if f.Version == 2 {
		sum = ^sum16(0, b)
		b = append(b, f.Auth[:]...)
	}
	if f.FlipSum {
		sum ^= 0x0100
	}
	binary.BigEndian.PutUint16(b[6:], sum)
	ttl := f.TTL
	if ttl == 0 {
		ttl = 255
	}
	return ipFrame(ends{fromMAC: p.MAC, toMAC: mac}, f.Source, group, protoVRRP, ttl, b[:len(b)-f.Cut])
}

// vrrpGroup is where VRRP is sent to over IPv4.
func vrrpGroup() (netip.Addr, net.HardwareAddr) {
	return netip.MustParseAddr("224.0.0.18"), net.HardwareAddr{0x01, 0, 0x5e, 0, 0, 0x12}
}

// ForgeUDP builds the Ethernet frame of a datagram from source to a port at the VRRP group, as the peer would send it.
func (p *Peer) ForgeUDP(source netip.AddrPort, port uint16, content []byte) []byte {
	group, mac := vrrpGroup()
	b := binary.BigEndian.AppendUint16(nil, source.Port())
	b = binary.BigEndian.AppendUint16(b, port)
	b = binary.BigEndian.AppendUint16(b, uint16(udpHeader+len(content)))
	b = append(append(b, 0, 0), content...) // over IPv4 it may go without a checksum
	return ipFrame(ends{fromMAC: p.MAC, toMAC: mac}, source.Addr(), group, unix.IPPROTO_UDP, 255, b)
}

// ForgeClaim builds the Ethernet frame by which a host with that MAC would claim an address, to everybody.
func (p *Peer) ForgeClaim(mac net.HardwareAddr, addr netip.Addr) []byte { return gratuitous(mac, addr) }

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
	return try.Err(l.Router.Run("ip", "route", "replace", "blackhole", "10.97.0.128/25"))
}
