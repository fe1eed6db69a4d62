package lab

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"os"
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
