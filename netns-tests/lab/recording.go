package lab

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// RecordedFrame is one Ethernet frame that came out of a node, as the switch saw it.
type RecordedFrame struct {
	At   time.Duration // since [Host.Open]
	Node int
	Data []byte
}

// Datagram is the source and the content of a UDP datagram over IPv4 to the port. The content is nil if the frame is none.
func (f RecordedFrame) Datagram(port uint16) (from netip.Addr, content []byte) {
	p, _ := packetOf(f.Data)
	if _, to, content := p.datagram(); p.from.Is4() && to == port {
		return p.from, content
	}
	return netip.Addr{}, nil
}

// Advertises tells whether it is a VRRP advertisement of a priority above 0.
func (f RecordedFrame) Advertises() bool {
	a, ok := parseAdvert(f.Data)
	return ok && a.Priority > 0
}

// Announces tells whether it is a gratuitous ARP or an unsolicited neighbour advertisement of the address.
func (f RecordedFrame) Announces(addr netip.Addr) bool {
	a, ok := parseAnnouncement(f.Data)
	return ok && a.unsolicited && a.address == addr
}

// Recording keeps what it makes of the frames that nodes send.
type Recording[T any] struct {
	capture *capture
	kept    []T // owned by the capture until Stop
}

// Record starts to keep every frame of protocol 112 that a node sends.
func (l *Lab) Record() (*Recording[RecordedFrame], error) {
	return l.recordIf(func(f RecordedFrame) bool { p, _ := packetOf(f.Data); return p.protocol == protoVRRP })
}

// RecordAll starts to keep every frame that a node sends.
func (l *Lab) RecordAll() (*Recording[RecordedFrame], error) {
	return l.recordIf(func(RecordedFrame) bool { return true })
}

// RecordUDP starts to keep every datagram over IPv4 to the port that a node sends.
func (l *Lab) RecordUDP(port uint16) (*Recording[RecordedFrame], error) {
	return l.recordIf(func(f RecordedFrame) bool { _, content := f.Datagram(port); return content != nil })
}

// RecordARP starts to keep every ARP frame that a node sends.
func (l *Lab) RecordARP() (*Recording[RecordedFrame], error) {
	return l.recordIf(func(f RecordedFrame) bool { return binary.BigEndian.Uint16(f.Data[12:]) == unix.ETH_P_ARP })
}

func (l *Lab) recordIf(wanted func(RecordedFrame) bool) (*Recording[RecordedFrame], error) {
	return record(l, func(f RecordedFrame) (RecordedFrame, bool) {
		is := wanted(f)
		if is {
			f.Data = bytes.Clone(f.Data)
		}
		return f, is
	})
}

// record keeps what a function returns of a frame, whose data it must not keep.
func record[T any](l *Lab, of func(RecordedFrame) (T, bool)) (r *Recording[T], err error) {
	r = &Recording[T]{}
	r.capture, err = l.startCapture(func(f RecordedFrame) {
		if kept, ok := of(f); ok {
			r.kept = append(r.kept, kept)
		}
	})
	return r, err
}

// Stop ends the recording and returns what it has kept, in the order of arrival.
func (r *Recording[T]) Stop() []T {
	_ = r.capture.finish()
	return r.kept
}

// WritePCAP writes frames to a file that tshark and tcpdump read (the classic
// format, link type Ethernet); instants count from 1970.
func WritePCAP(path string, frames []RecordedFrame) (err error) {
	defer try.Say(&err, "lab: write a capture")
	const ethernet = 1
	b := binary.LittleEndian.AppendUint32(nil, 0xa1b2c3d4)
	b = binary.LittleEndian.AppendUint16(b, 2)
	b = binary.LittleEndian.AppendUint16(b, 4)
	b = append(b, make([]byte, 8)...)
	b = binary.LittleEndian.AppendUint32(b, 65535)
	b = binary.LittleEndian.AppendUint32(b, ethernet)
	for _, f := range frames {
		b = binary.LittleEndian.AppendUint32(b, uint32(f.At/time.Second))
		b = binary.LittleEndian.AppendUint32(b, uint32(f.At%time.Second/time.Microsecond))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(f.Data)))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(f.Data)))
		b = append(b, f.Data...)
	}
	return os.WriteFile(path, b, 0o644)
}

// Carried is a frame that a node sent in an address's name.
type Carried struct {
	At      time.Duration
	Node    int
	Kind    string // "arp", "ip", "ns", "na" or KindReset
	Address netip.Addr
}

// WatchCarried notes each frame that comes out of a node and carries one of the
// addresses: as the sender in ARP, as the source of a packet, or as the target of
// a neighbour solicitation or advertisement.
func (l *Lab) WatchCarried(addrs ...netip.Addr) (*Recording[Carried], error) {
	return record(l, func(f RecordedFrame) (Carried, bool) {
		for kind, addr := range carriedBy(f.Data) {
			if slices.Contains(addrs, addr) {
				return Carried{At: f.At, Node: f.Node, Kind: kind, Address: addr}, true
			}
		}
		return Carried{}, false
	})
}

// KindReset is the end of a connection of TCP: it answers nobody.
const KindReset = "reset"

func resets(segment []byte) bool { return len(segment) > 13 && segment[13]&0x04 != 0 }

// carriedBy lists the addresses in whose name a frame speaks.
func carriedBy(frame []byte) map[string]netip.Addr {
	if len(frame) >= etherHeader+28 && binary.BigEndian.Uint16(frame[12:]) == unix.ETH_P_ARP {
		return map[string]netip.Addr{"arp": netip.AddrFrom4([4]byte(frame[etherHeader+14:]))}
	}
	p, ok := packetOf(frame)
	switch {
	case !ok:
		return nil
	case p.protocol == unix.IPPROTO_TCP && resets(p.content):
		return map[string]netip.Addr{KindReset: p.from}
	}
	found := map[string]netip.Addr{"ip": p.from}
	if p.protocol == unix.IPPROTO_ICMPV6 && len(p.content) >= 24 {
		target := netip.AddrFrom16([16]byte(p.content[8:24]))
		switch {
		case p.content[0] == icmpNeighborSolicit && !p.from.IsUnspecified():
			found["ns"] = target
		case p.content[0] == icmpNeighborAdvertise:
			found["na"] = target
		}
	}
	return found
}

// Tripwire does something as soon as the switch sees a certain frame.
type Tripwire struct {
	capture *capture
	match   func(RecordedFrame) bool
	act     func() error
	tripped chan struct{} // closed when act has returned

	sprung bool // of the capture's thread; the others are read after tripped
	at     time.Duration
	err    error
}

// Trip calls act once, in the thread that watches, as soon as a node sends a frame to a group that matches. The frame itself is
// on its way: whoever has another processor may have it before act has done anything.
func (l *Lab) Trip(match func(RecordedFrame) bool, act func() error) (*Tripwire, error) {
	t := &Tripwire{match: match, act: act, tripped: make(chan struct{})}
	var err error
	t.capture, err = l.startCapture(func(f RecordedFrame) { t.note(l, f) })
	return t, err
}

func (t *Tripwire) note(l *Lab, f RecordedFrame) {
	if t.sprung || f.Data[0]&1 == 0 || !t.match(f) {
		return
	}
	t.sprung = true
	t.err = t.act()
	t.at = l.Now()
	close(t.tripped)
}

// Wait ends the watch when act has returned, or after the limit, which is an error. It returns when that was.
func (t *Tripwire) Wait(limit time.Duration) (time.Duration, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-t.tripped:
	case <-timer.C:
	}
	t.capture.finish()
	if !t.sprung {
		return 0, fmt.Errorf("lab: the frame that was waited for did not come within %v", limit)
	}
	return t.at, t.err
}
