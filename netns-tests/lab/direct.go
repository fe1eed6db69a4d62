package lab

import (
	"bytes"
	"cmp"
	"math"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// How a node can answer for an address.
const (
	byUDP = iota
	byARP
	byNS
	answerKinds
)

// direct asks every node, each by its own MAC address, whether it answers for
// the virtual addresses: by UDP, ARP and neighbour solicitation; a second NIC on
// the link by ARP and neighbour solicitation alone. It runs on a
// host of its own, so that the answers touch no client's neighbour cache.
type direct struct {
	lab      *Lab
	targets  []netip.Addr
	udpEvery time.Duration
	askEvery time.Duration // ARP and NS
	nodes    atomic.Pointer[[]directNode]

	ports [2]uint16 // of the sockets for IPv4 and IPv6
	send  int       // packet socket
	fds   []unix.PollFd
	stop  atomic.Bool
	done  chan struct{}
	ticks [answerKinds][]tick // owned by run until done
	late  []Stall
}

// directNode is what is sent to one node, ready for the wire but for the
// sequence number of UDP probes.
type directNode struct {
	udp  []ends
	arp  [][]byte
	ns   [][]byte
	mac  []byte
	node int
}

// tick is one round of questions; bit n of answered is node n.
type tick struct {
	at       time.Duration
	answered uint64
}

func (l *Lab) startDirect(targets []netip.Addr, udpEvery, askEvery time.Duration) (*direct, error) {
	d := &direct{lab: l, targets: targets, udpEvery: udpEvery, askEvery: askEvery, done: make(chan struct{}), send: -1}
	if err := d.open(); err != nil {
		d.closeSockets()
		return nil, err
	}
	go d.run()
	return d, nil
}

func (d *direct) open() error {
	monitor := d.lab.monitor
	v4, err := udpSocket(monitor.Namespace, netip.AddrPortFrom(monitor.Address, 0))
	if err != nil {
		return err
	}
	d.fds = append(d.fds, unix.PollFd{Fd: int32(v4), Events: unix.POLLIN})
	v6, err := udpSocket(monitor.Namespace, netip.AddrPortFrom(monitor.Addr6, 0))
	if err != nil {
		return err
	}
	d.fds = append(d.fds, unix.PollFd{Fd: int32(v6), Events: unix.POLLIN})
	index, err := monitor.linkIndex("eth0")
	if err != nil {
		return err
	}
	arp, err := packetSocket(monitor.Namespace, unix.ETH_P_ARP, index)
	if err != nil {
		return err
	}
	d.send = arp
	d.fds = append(d.fds, unix.PollFd{Fd: int32(arp), Events: unix.POLLIN})
	na, err := packetSocket(monitor.Namespace, unix.ETH_P_IPV6, index, attach(neighborAdvertisements()))
	if err != nil {
		return err
	}
	d.fds = append(d.fds, unix.PollFd{Fd: int32(na), Events: unix.POLLIN})
	d.ports = [2]uint16{localPort(v4), localPort(v6)}
	d.prepareAll()
	return nil
}

// prepareAll goes by the MAC addresses that the nodes have now.
func (d *direct) prepareAll() {
	var nodes []directNode
	for _, n := range d.lab.Nodes {
		for i, nic := range n.NICs {
			if nic.LAN == 0 {
				nodes = append(nodes, d.prepare(n, i))
			}
		}
	}
	d.nodes.Store(&nodes)
}

func (d *direct) prepare(n *Node, nic int) directNode {
	monitor := d.lab.monitor
	p := directNode{mac: n.NICs[nic].MAC, node: n.ID}
	for _, target := range d.targets {
		e := ends{fromMAC: monitor.MAC, toMAC: n.NICs[nic].MAC, to: netip.AddrPortFrom(target, echoPort)}
		if target.Is4() {
			e.from = netip.AddrPortFrom(monitor.Address, d.ports[0])
			p.arp = append(p.arp, arpRequest(e))
		} else {
			e.from = netip.AddrPortFrom(monitor.Addr6, d.ports[1])
			p.ns = append(p.ns, neighborSolicitation(e))
		}
		if nic == 0 {
			p.udp = append(p.udp, e)
		}
	}
	return p
}

func (d *direct) run() {
	defer close(d.done)
	lockMeasuringThread()
	defer d.closeSockets()
	var r receiver
	nextUDP, nextAsk := d.lab.now(), d.lab.now()
	for !d.stop.Load() {
		waitReadable(d.fds, min(nextUDP, nextAsk)-d.lab.now())
		d.drain(&r)
		now := d.lab.now()
		if now >= nextUDP {
			d.probeUDP(now)
			nextUDP = d.following(now, nextUDP, d.udpEvery)
		}
		if now >= nextAsk {
			d.ask(now)
			nextAsk = d.following(now, nextAsk, d.askEvery)
		}
	}
	waitReadable(d.fds, 20*time.Millisecond)
	d.drain(&r)
}

func (d *direct) following(now, due, every time.Duration) time.Duration {
	if late := now - due; late > stallLimit {
		d.late = append(d.late, Stall{At: due, Length: late, CPU: -1})
		return now + every
	}
	return due + every
}

func (d *direct) probeUDP(now time.Duration) {
	content := make([]byte, payloadSize)
	payload{seq: uint64(len(d.ticks[byUDP]))}.put(content)
	d.ticks[byUDP] = append(d.ticks[byUDP], tick{at: now})
	for _, n := range *d.nodes.Load() {
		for _, e := range n.udp {
			d.write(udpFrame(e, content))
		}
	}
}

func (d *direct) ask(now time.Duration) {
	d.ticks[byARP] = append(d.ticks[byARP], tick{at: now})
	d.ticks[byNS] = append(d.ticks[byNS], tick{at: now})
	for _, n := range *d.nodes.Load() {
		for _, frame := range n.arp {
			d.write(frame)
		}
		for _, frame := range n.ns {
			d.write(frame)
		}
	}
}

func (d *direct) write(frame []byte) { _, _ = unix.Write(d.send, frame) }

func (d *direct) drain(r *receiver) {
	for i, p := range d.fds {
		r.drain(int(p.Fd), func(data []byte, _ time.Time, _ unix.Sockaddr) { d.note(i, data) })
	}
}

// note attributes an answer to its tick. UDP answers carry the tick; ARP and
// ND answers, which the kernel sends at once, belong to the latest.
func (d *direct) note(socket int, data []byte) {
	if socket < 2 {
		if p, ok := parsePayload(data); ok && p.node != 0 && p.seq < uint64(len(d.ticks[byUDP])) {
			d.ticks[byUDP][p.seq].answered |= 1 << p.node
		}
		return
	}
	kind := byARP
	if socket == 3 {
		kind = byNS
	}
	if a, ok := parseAnnouncement(data); ok && !a.unsolicited && d.wants(a.address) && len(d.ticks[kind]) > 0 {
		for _, n := range *d.nodes.Load() {
			if bytes.Equal(a.mac, n.mac) {
				d.ticks[kind][len(d.ticks[kind])-1].answered |= 1 << n.node
			}
		}
	}
}

func (d *direct) wants(addr netip.Addr) bool {
	for _, t := range d.targets {
		if t == addr {
			return true
		}
	}
	return false
}

func (d *direct) closeSockets() {
	for _, p := range d.fds {
		unix.Close(int(p.Fd))
	}
}

func (d *direct) finish() DirectReport {
	d.stop.Store(true)
	<-d.done
	return DirectReport{
		UDP: doubles(d.ticks[byUDP], d.udpEvery), ARP: doubles(d.ticks[byARP], d.askEvery), NS: doubles(d.ticks[byNS], d.askEvery),
		ticks: d.ticks, every: [answerKinds]time.Duration{d.udpEvery, d.askEvery, d.askEvery},
	}
}

// DirectReport says who answered for the virtual addresses when asked directly.
type DirectReport struct {
	UDP DirectAnswers `json:"udp"`
	ARP DirectAnswers `json:"arp"`
	NS  DirectAnswers `json:"ns"`

	ticks [answerKinds][]tick
	every [answerKinds]time.Duration
}

// DirectAnswers is the result for one way of asking.
type DirectAnswers struct {
	Rounds  int                   `json:"rounds"`
	ByNode  map[int]int           `json:"byNode"`  // rounds each node answered
	Two     time.Duration         `json:"two"`     // time with two or more nodes answering
	TwoFrom time.Duration         `json:"twoFrom"` // first round with two
	TwoLast time.Duration         `json:"twoLast"` // last round with two
	LastBy  map[int]time.Duration `json:"lastBy"`  // last round each node answered
}

// Two is the longest time with two nodes answering over the ways of asking.
func (r DirectReport) Two() time.Duration { return max(r.UDP.Two, r.ARP.Two, r.NS.Two) }

// TwoAfter is [DirectReport.Two] for the rounds from the instant on.
func (r DirectReport) TwoAfter(at time.Duration) time.Duration {
	return r.twoAfter(at, byUDP, byARP, byNS)
}

// DiscoveryTwoAfter is the same for ARP and neighbour discovery alone.
func (r DirectReport) DiscoveryTwoAfter(at time.Duration) time.Duration {
	return r.twoAfter(at, byARP, byNS)
}

// DiscoveryTwoIn is the same for the rounds in [from, to).
func (r DirectReport) DiscoveryTwoIn(from, to time.Duration) time.Duration {
	return r.twoIn(from, to, byARP, byNS)
}

// TwoIn is [DirectReport.Two] for the rounds in [from, to).
func (r DirectReport) TwoIn(from, to time.Duration) time.Duration {
	return r.twoIn(from, to, byUDP, byARP, byNS)
}

// Answers tells whether the node answered any question in [from, to).
func (r DirectReport) Answers(node int, from, to time.Duration) bool {
	for _, ticks := range r.ticks {
		first, _ := slices.BinarySearchFunc(ticks, from, func(t tick, at time.Duration) int { return cmp.Compare(t.at, at) })
		for _, t := range ticks[first:] {
			if t.at >= to {
				break
			}
			if t.answered&(1<<node) != 0 {
				return true
			}
		}
	}
	return false
}

// Beside is the longest time, over the ways of asking, in which the node answered and another one, too, in the rounds in [from, to).
func (r DirectReport) Beside(node int, from, to time.Duration) time.Duration {
	var longest time.Duration
	for kind, ticks := range r.ticks {
		var both time.Duration
		for _, t := range ticks {
			if own := uint64(1) << node; t.at >= from && t.at < to && t.answered&own != 0 && t.answered != own {
				both += r.every[kind]
			}
		}
		longest = max(longest, both)
	}
	return longest
}

func (r DirectReport) twoAfter(at time.Duration, kinds ...int) time.Duration {
	return r.twoIn(at, math.MaxInt64, kinds...)
}

func (r DirectReport) twoIn(from, to time.Duration, kinds ...int) time.Duration {
	var longest time.Duration
	for _, kind := range kinds {
		var within []tick
		for _, t := range r.ticks[kind] {
			if t.at >= from && t.at < to {
				within = append(within, t)
			}
		}
		longest = max(longest, doubles(within, r.every[kind]).Two)
	}
	return longest
}

func doubles(ticks []tick, every time.Duration) DirectAnswers {
	a := DirectAnswers{Rounds: len(ticks), ByNode: map[int]int{}, LastBy: map[int]time.Duration{}}
	for _, t := range ticks {
		count := 0
		for node := range 64 {
			if t.answered&(1<<node) != 0 {
				count++
				a.ByNode[node]++
				a.LastBy[node] = t.at
			}
		}
		if count < 2 {
			continue
		}
		if a.Two == 0 {
			a.TwoFrom = t.at
		}
		a.Two += every
		a.TwoLast = t.at
	}
	return a
}

func localPort(fd int) uint16 {
	switch a, _ := unix.Getsockname(fd); a := a.(type) {
	case *unix.SockaddrInet4:
		return uint16(a.Port)
	case *unix.SockaddrInet6:
		return uint16(a.Port)
	}
	return 0
}

// neighborAdvertisements passes ICMPv6 type 136 that follows the IPv6 header.
func neighborAdvertisements() []bpf.Instruction {
	return []bpf.Instruction{
		bpf.LoadAbsolute{Off: etherHeader + 6, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.IPPROTO_ICMPV6, SkipFalse: 3},
		bpf.LoadAbsolute{Off: etherHeader + ipv6Header, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: icmpNeighborAdvertise, SkipFalse: 1},
		bpf.RetConstant{Val: 0xffff},
		bpf.RetConstant{Val: 0},
	}
}

// attach returns a socket option that sets a filter.
func attach(program []bpf.Instruction) func(fd int) error {
	return func(fd int) error {
		raw, err := bpf.Assemble(program)
		if err != nil {
			return err
		}
		filter := make([]unix.SockFilter, len(raw))
		for i, in := range raw {
			filter[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
		}
		return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(filter)), Filter: (*unix.SockFilter)(unsafe.Pointer(&filter[0]))})
	}
}
