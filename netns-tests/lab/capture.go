package lab

import (
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// capture watches what nodes say at the switch: announcements and VRRP.
type capture struct {
	lab   *Lab
	ports map[int]int // ifindex on the switch -> node
	fd    int
	stop  atomic.Bool
	done  chan struct{}
	raw   func(frame []byte, at time.Duration, node int) // instead of reading the frames

	announcements []Announcement // owned by run until done
	adverts       []Advert
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
}

func (l *Lab) startCapture() (*capture, error) {
	c := &capture{lab: l, ports: map[int]int{}, done: make(chan struct{})}
	if err := c.learnPorts(); err != nil {
		return nil, err
	}
	fd, err := packetSocket(l.Switch, unix.ETH_P_ALL, 0, attach(announcementsAndVRRP()))
	if err != nil {
		return nil, err
	}
	c.fd = fd
	go c.run()
	return c, nil
}

func (c *capture) learnPorts() error {
	return c.lab.Switch.Do(func() error {
		links, err := net.Interfaces()
		if err != nil {
			return err
		}
		for _, n := range c.lab.Nodes {
			for _, nic := range n.NICs {
				i := slices.IndexFunc(links, func(l net.Interface) bool { return l.Name == nic.Port })
				if i >= 0 {
					c.ports[links[i].Index] = n.ID
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
	if a, ok := parseAnnouncement(frame); ok {
		if a.unsolicited {
			c.announcements = append(c.announcements, Announcement{At: at, Node: node, Kind: a.kind, Address: a.address, MAC: a.mac.String()})
		}
		return
	}
	if a, ok := parseAdvert(frame); ok {
		a.At, a.Node = at, node
		c.adverts = append(c.adverts, a)
	}
}

// nodeAt is the node behind a port, 0 if it belongs to another host. A port
// that is not known may be that of an interface made anew.
func (c *capture) nodeAt(index int) int {
	if _, known := c.ports[index]; !known {
		c.ports[index] = 0 // asked for once only: clients send many frames
		_ = c.learnPorts()
	}
	return c.ports[index]
}

func (c *capture) finish() ([]Announcement, []Advert) {
	c.stop.Store(true)
	<-c.done
	return c.announcements, c.adverts
}

// announcementsAndVRRP passes ARP, VRRP over both families, and neighbour
// advertisements.
func announcementsAndVRRP() []bpf.Instruction {
	const accept, reject = 9, 10
	at := func(i, to int) uint8 { return uint8(to - i - 1) }
	return []bpf.Instruction{
		0: bpf.LoadAbsolute{Off: 12, Size: 2},
		1: bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.ETH_P_ARP, SkipTrue: at(1, accept)},
		2: bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.ETH_P_IPV6, SkipTrue: at(2, 5)},
		3: bpf.LoadAbsolute{Off: etherHeader + 9, Size: 1},
		4: bpf.JumpIf{Cond: bpf.JumpEqual, Val: protoVRRP, SkipTrue: at(4, accept), SkipFalse: at(4, reject)},
		5: bpf.LoadAbsolute{Off: etherHeader + 6, Size: 1},
		6: bpf.JumpIf{Cond: bpf.JumpEqual, Val: protoVRRP, SkipTrue: at(6, accept)},
		7: bpf.LoadAbsolute{Off: etherHeader + ipv6Header, Size: 1},
		8: bpf.JumpIf{Cond: bpf.JumpEqual, Val: icmpNeighborAdvertise, SkipTrue: at(8, accept), SkipFalse: at(8, reject)},

		accept: bpf.RetConstant{Val: 0xffff},
		reject: bpf.RetConstant{Val: 0},
	}
}
