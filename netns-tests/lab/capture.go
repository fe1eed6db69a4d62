package lab

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// capture watches what nodes say at the switch: announcements and VRRP.
type capture struct {
	lab   *Lab
	ports map[int]int // ifindex on the switch -> node, 0 if it belongs to another host
	fd    int
	stop  atomic.Bool
	done  chan struct{}
	raw   func(frame []byte, at time.Duration, node int) // instead of reading the frames

	announcements []Announcement // owned by run until done
	adverts       []Advert
	answers       []Answer
	err           error // something was not captured
}

// Announcement is a gratuitous ARP or an unsolicited neighbour advertisement.
type Announcement struct {
	At      time.Duration `json:"at"`
	Node    int           `json:"node"` // whose port it came in by
	Kind    string        `json:"kind"`
	Address netip.Addr    `json:"address"`
	MAC     string        `json:"mac"`
}

// Advert is a VRRP advertisement as seen at the switch.
type Advert struct {
	At        time.Duration `json:"at"`
	Node      int           `json:"node"`
	Source    netip.Addr    `json:"source"`
	Version   int           `json:"version"`
	VRID      int           `json:"vrid"`
	Priority  int           `json:"priority"`
	Interval  time.Duration `json:"interval"`
	Addresses int           `json:"addresses"`

	names []netip.Addr // the first of those addresses
}

// startCapture watches what nodes say. raw, if there is one, is given each frame of a node instead.
func (l *Lab) startCapture(raw func(frame []byte, at time.Duration, node int)) (_ *capture, err error) {
	defer try.Catch(&err)
	c := &capture{lab: l, ports: map[int]int{}, done: make(chan struct{}), raw: raw}
	try.Do(c.learnPorts())
	options := []func(fd int) error{incomingAlone}
	if raw == nil {
		options = append(options, attach(nodesSpeak()))
	}
	c.fd = try.Get(packetSocket(l.Switch, unix.ETH_P_ALL, 0, options...))
	go c.run()
	return c, nil
}

func (c *capture) learnPorts() error {
	return c.lab.Switch.Do(func() (err error) {
		defer try.Catch(&err)
		links := try.Get(net.Interfaces())
		for _, l := range links {
			c.ports[l.Index] = 0
			for _, n := range c.lab.Nodes {
				if slices.ContainsFunc(n.NICs, func(nic NIC) bool { return nic.Port == l.Name }) {
					c.ports[l.Index] = n.ID
				}
			}
		}
		return nil
	})
}

func (c *capture) run() {
	defer close(c.done)
	lockMeasuringThread()
	defer unix.Close(c.fd)
	var r receiver
	poll := []unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLIN}}
	for !c.stop.Load() {
		waitReadable(poll, 50*time.Millisecond)
		r.drain(c.fd, c.note)
	}
	r.drain(c.fd, c.note)
	if stats, err := unix.GetsockoptTpacketStats(c.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS); err != nil {
		c.err = fmt.Errorf("lab: capture on the switch: %w", err)
	} else if stats.Drops > 0 || r.unstamped > 0 {
		c.err = fmt.Errorf("lab: capture on the switch: %d frames were dropped, %d had no time of the kernel: nothing can be said of safety", stats.Drops, r.unstamped)
	}
}

func (c *capture) note(frame []byte, stamp time.Time, from unix.Sockaddr) {
	link, ok := from.(*unix.SockaddrLinklayer)
	if !ok {
		return
	}
	node := c.nodeAt(link.Ifindex)
	if node == 0 {
		return
	}
	at := c.lab.instant(stamp)
	if c.raw != nil {
		c.raw(frame, at, node)
		return
	}
	if a, ok := parseAnnouncement(frame); ok && a.unsolicited {
		c.announcements = append(c.announcements, Announcement{At: at, Node: node, Kind: a.kind, Address: a.address, MAC: a.mac.String()})
		return
	}
	if a, ok := parseAdvert(frame); ok {
		a.At, a.Node = at, node
		c.adverts = append(c.adverts, a)
		return
	}
	if a, ok := parseAnswer(frame); ok {
		a.At, a.Node = at, node
		c.answers = append(c.answers, a)
	}
}

// nodeAt is the node behind a port, 0 if it belongs to another host. A port that is not known may be that of an interface made anew. To ask
// the kernel takes long while others change links, so it is asked once.
func (c *capture) nodeAt(index int) int {
	if _, known := c.ports[index]; !known {
		c.ports[index] = 0
		_ = c.learnPorts()
	}
	return c.ports[index]
}

// finish ends the capture. What it has seen is in the order in which the kernel received it.
func (c *capture) finish() error {
	c.stop.Store(true)
	<-c.done
	slices.SortStableFunc(c.announcements, func(a, b Announcement) int { return cmp.Compare(a.At, b.At) })
	slices.SortStableFunc(c.adverts, func(a, b Advert) int { return cmp.Compare(a.At, b.At) })
	slices.SortStableFunc(c.answers, func(a, b Answer) int { return cmp.Compare(a.At, b.At) })
	return c.err
}

// nodesSpeak passes ARP, VRRP over both families, neighbour advertisements, and answers of echoes.
func nodesSpeak() []bpf.Instruction {
	const accept, reject = 13, 14
	at := func(i, to int) uint8 { return uint8(to - i - 1) }
	return []bpf.Instruction{
		0: bpf.LoadAbsolute{Off: 12, Size: 2},
		1: bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.ETH_P_ARP, SkipTrue: at(1, accept)},
		2: bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.ETH_P_IPV6, SkipTrue: at(2, 8)},
		3: bpf.LoadAbsolute{Off: etherHeader + 9, Size: 1},
		4: bpf.JumpIf{Cond: bpf.JumpEqual, Val: protoVRRP, SkipTrue: at(4, accept)},
		5: bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.IPPROTO_UDP, SkipFalse: at(5, reject)},
		6: bpf.LoadAbsolute{Off: etherHeader + ipv4Header, Size: 2},
		7: bpf.JumpIf{Cond: bpf.JumpEqual, Val: echoPort, SkipTrue: at(7, accept), SkipFalse: at(7, reject)},

		8:  bpf.LoadAbsolute{Off: etherHeader + 6, Size: 1},
		9:  bpf.JumpIf{Cond: bpf.JumpEqual, Val: protoVRRP, SkipTrue: at(9, accept)},
		10: bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.IPPROTO_ICMPV6, SkipTrue: at(10, accept)},
		11: bpf.LoadAbsolute{Off: etherHeader + ipv6Header, Size: 2},
		12: bpf.JumpIf{Cond: bpf.JumpEqual, Val: echoPort, SkipTrue: at(12, accept), SkipFalse: at(12, reject)},

		accept: bpf.RetConstant{Val: 0xffff},
		reject: bpf.RetConstant{Val: 0},
	}
}

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

// Carried is a frame that a node sent in an address's name.
type Carried struct {
	At      time.Duration
	Node    int
	Kind    string // "arp", "ip", "ns", "na" or KindReset
	Address netip.Addr
}

// CarriedWatch notes every frame that carries one of some addresses.
type CarriedWatch struct {
	capture *capture
	wanted  map[netip.Addr]bool
	frames  []Carried // owned by the capture until Stop
}

// WatchCarried notes each frame that comes out of a node and carries one of the
// addresses: as the sender in ARP, as the source of a packet, or as the target of
// a neighbour solicitation or advertisement.
func (l *Lab) WatchCarried(addrs ...netip.Addr) (*CarriedWatch, error) {
	w := &CarriedWatch{wanted: map[netip.Addr]bool{}}
	for _, a := range addrs {
		w.wanted[a] = true
	}
	var err error
	w.capture, err = l.startCapture(w.note)
	return w, err
}

// Stop ends the watch and returns the frames in the order of arrival.
func (w *CarriedWatch) Stop() []Carried {
	w.capture.finish()
	return w.frames
}

func (w *CarriedWatch) note(frame []byte, at time.Duration, node int) {
	for kind, addr := range carriedBy(frame) {
		if w.wanted[addr] {
			w.frames = append(w.frames, Carried{At: at, Node: node, Kind: kind, Address: addr})
			return
		}
	}
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

// Sighting is a frame to a group that came out of a node, as the switch saw it.
type Sighting struct {
	At   time.Duration
	Node int

	frame []byte
}

// Datagram is the content of a UDP datagram over IPv4 to the port, nil if the frame is none.
func (s Sighting) Datagram(port uint16) []byte {
	p, _ := packetOf(s.frame)
	if _, to, content := p.datagram(); p.from.Is4() && to == port {
		return content
	}
	return nil
}

// Advertises tells whether it is a VRRP advertisement of a priority above 0.
func (s Sighting) Advertises() bool {
	a, ok := parseAdvert(s.frame)
	return ok && a.Priority > 0
}

// Announces tells whether it is a gratuitous ARP or an unsolicited neighbour advertisement of the address.
func (s Sighting) Announces(addr netip.Addr) bool {
	a, ok := parseAnnouncement(s.frame)
	return ok && a.unsolicited && a.address == addr
}

// Tripwire does something as soon as the switch sees a certain frame.
type Tripwire struct {
	capture *capture
	match   func(Sighting) bool
	act     func() error
	tripped chan struct{} // closed when act has returned

	sprung bool // of the capture's thread; the others are read after tripped
	at     time.Duration
	err    error
}

// Trip calls act once, in the thread that watches, as soon as a node sends a frame to a group that matches. The frame itself is
// on its way: whoever has another processor may have it before act has done anything.
func (l *Lab) Trip(match func(Sighting) bool, act func() error) (*Tripwire, error) {
	t := &Tripwire{match: match, act: act, tripped: make(chan struct{})}
	var err error
	t.capture, err = l.startCapture(func(frame []byte, at time.Duration, node int) { t.note(l, frame, at, node) })
	return t, err
}

func (t *Tripwire) note(l *Lab, frame []byte, at time.Duration, node int) {
	if t.sprung || frame[0]&1 == 0 || !t.match(Sighting{At: at, Node: node, frame: frame}) {
		return
	}
	t.sprung = true
	t.err = t.act()
	t.at = l.now()
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
