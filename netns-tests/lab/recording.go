package lab

import (
	"bytes"
	"encoding/binary"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// Recording keeps whole VRRP frames as nodes sent them, for other programs to
// read and for replays.
type Recording struct {
	capture *capture
	frames  []RecordedFrame // owned by the capture until Stop
}

// RecordedFrame is one Ethernet frame that came out of a node.
type RecordedFrame struct {
	At   time.Duration // since [Host.Open]
	Node int
	Data []byte
}

// Record starts to keep every frame of protocol 112 that a node sends.
func (l *Lab) Record() (*Recording, error) {
	return l.record(func(frame []byte) bool { p, _ := packetOf(frame); return p.protocol == protoVRRP })
}

// RecordAll starts to keep every frame that a node sends.
func (l *Lab) RecordAll() (*Recording, error) {
	return l.record(func([]byte) bool { return true })
}

// RecordUDP starts to keep every datagram to the port that a node sends.
func (l *Lab) RecordUDP(port uint16) (*Recording, error) {
	return l.record(func(frame []byte) bool { p, _ := packetOf(frame); _, to, _ := p.datagram(); return to == port })
}

// RecordARP starts to keep every ARP frame that a node sends.
func (l *Lab) RecordARP() (*Recording, error) {
	return l.record(func(frame []byte) bool { return binary.BigEndian.Uint16(frame[12:]) == unix.ETH_P_ARP })
}

func (l *Lab) record(wanted func(frame []byte) bool) (r *Recording, err error) {
	r = &Recording{}
	r.capture, err = l.startCapture(func(frame []byte, at time.Duration, node int) {
		if wanted(frame) {
			r.frames = append(r.frames, RecordedFrame{At: at, Node: node, Data: bytes.Clone(frame)})
		}
	})
	return r, err
}

// Stop ends the recording and returns the frames in the order of arrival.
func (r *Recording) Stop() []RecordedFrame {
	r.capture.finish()
	return r.frames
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
	try.Do(os.WriteFile(path, b, 0o644))
	return nil
}
