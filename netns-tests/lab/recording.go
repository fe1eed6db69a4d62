package lab

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
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
func (l *Lab) Record() (*Recording, error) { return l.record(onlyVRRP()) }

// RecordAll starts to keep every frame that a node sends.
func (l *Lab) RecordAll() (*Recording, error) { return l.record(nil) }

// RecordUDP starts to keep every datagram to the port that a node sends.
func (l *Lab) RecordUDP(port uint16) (*Recording, error) { return l.record(onlyUDP(port)) }

// RecordARP starts to keep every ARP frame that a node sends.
func (l *Lab) RecordARP() (*Recording, error) {
	return l.record([]bpf.Instruction{
		bpf.LoadAbsolute{Off: 12, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.ETH_P_ARP, SkipFalse: 1},
		bpf.RetConstant{Val: 0xffff},
		bpf.RetConstant{Val: 0},
	})
}

func (l *Lab) record(filter []bpf.Instruction) (*Recording, error) {
	r := &Recording{}
	var err error
	r.capture, err = l.startCapture(filter, r.note)
	return r, err
}

func (r *Recording) note(frame []byte, at time.Duration, node int) {
	r.frames = append(r.frames, RecordedFrame{At: at, Node: node, Data: bytes.Clone(frame)})
}

// Stop ends the recording and returns the frames in the order of arrival.
func (r *Recording) Stop() []RecordedFrame {
	r.capture.finish()
	return r.frames
}

// WritePCAP writes frames to a file that tshark and tcpdump read (the classic
// format, link type Ethernet); instants count from 1970.
func WritePCAP(path string, frames []RecordedFrame) error {
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
	if err := os.WriteFile(path, b, 0o644); err != nil {
		return fmt.Errorf("lab: write a capture: %w", err)
	}
	return nil
}

// onlyVRRP passes protocol 112 over both families.
func onlyVRRP() []bpf.Instruction {
	return []bpf.Instruction{
		bpf.LoadAbsolute{Off: 12, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.ETH_P_IPV6, SkipTrue: 3},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.ETH_P_IP, SkipFalse: 5},
		bpf.LoadAbsolute{Off: etherHeader + 9, Size: 1},
		bpf.Jump{Skip: 1},
		bpf.LoadAbsolute{Off: etherHeader + 6, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: protoVRRP, SkipFalse: 1},
		bpf.RetConstant{Val: 0xffff},
		bpf.RetConstant{Val: 0},
	}
}

// onlyUDP passes datagrams to a port over both families, without IP options.
func onlyUDP(port uint16) []bpf.Instruction {
	const destination = 2 // in the UDP header
	return []bpf.Instruction{
		bpf.LoadAbsolute{Off: 12, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.ETH_P_IPV6, SkipTrue: 5},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.ETH_P_IP, SkipFalse: 9},
		bpf.LoadAbsolute{Off: etherHeader + 9, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.IPPROTO_UDP, SkipFalse: 7},
		bpf.LoadAbsolute{Off: etherHeader + ipv4Header + destination, Size: 2},
		bpf.Jump{Skip: 3},
		bpf.LoadAbsolute{Off: etherHeader + 6, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.IPPROTO_UDP, SkipFalse: 3},
		bpf.LoadAbsolute{Off: etherHeader + ipv6Header + destination, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(port), SkipFalse: 1},
		bpf.RetConstant{Val: 0xffff},
		bpf.RetConstant{Val: 0},
	}
}
