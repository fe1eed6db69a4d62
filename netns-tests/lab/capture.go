package lab

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// capture watches what nodes say at the switch: announcements and VRRP.
type capture struct {
	measuring
	lab   *Lab
	ports map[int]int // ifindex on the switch -> node, 0 if it belongs to another host
	fd    int
	heard atomic.Int64        // the node whose advertisement was captured last
	raw   func(RecordedFrame) // is given each frame instead, whose data the next one replaces

	announcements []Announcement // owned by run until it has ended
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

// router is a Virtual Router of one family.
type router struct {
	vrid int
	v6   bool
}

func (a Advert) router() router { return router{a.VRID, a.Source.Is6()} }

// startCapture watches what nodes say. raw, if there is one, is given each frame of a node instead.
func (l *Lab) startCapture(raw func(RecordedFrame)) (_ *capture, err error) {
	defer try.Catch(&err)
	c := &capture{lab: l, ports: map[int]int{}, raw: raw}
	try.Do(c.learnPorts())
	options := []func(fd int) error{incomingAlone}
	if raw == nil {
		options = append(options, attach(nodesSpeak()))
	}
	c.fd = try.Get(packetSocket(l.Switch, unix.ETH_P_ALL, 0, options...))
	c.start(c.run)
	return c, nil
}

func (c *capture) learnPorts() (err error) {
	defer try.Catch(&err)
	for _, l := range try.Get(doIn(c.lab.Switch, net.Interfaces)) {
		c.ports[l.Index] = 0
		for _, n := range c.lab.Nodes {
			if slices.ContainsFunc(n.NICs, func(nic NIC) bool { return nic.Port == l.Name }) {
				c.ports[l.Index] = n.ID
			}
		}
	}
	return nil
}

func (c *capture) run() {
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
		c.raw(RecordedFrame{At: at, Node: node, Data: frame})
		return
	}
	if a, ok := parseAnnouncement(frame); ok && a.unsolicited {
		c.announcements = append(c.announcements, Announcement{At: at, Node: node, Kind: a.kind, Address: a.address, MAC: a.mac.String()})
		return
	}
	if a, ok := parseAdvert(frame); ok {
		a.At, a.Node = at, node
		c.adverts = append(c.adverts, a)
		c.heard.Store(int64(node))
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
	c.halt()
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
