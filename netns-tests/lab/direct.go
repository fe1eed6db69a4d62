package lab

import (
	"bytes"
	"fmt"
	"net/netip"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// direct asks every node, each by its own MAC address, whether it answers for
// the virtual addresses: by UDP, ARP and neighbour solicitation; a second NIC on
// the link by ARP and neighbour solicitation alone. It runs on a
// host of its own, so that the answers touch no client's neighbour cache. Who answers the capture sees.
type direct struct {
	lab      *Lab
	targets  []netip.Addr
	udpEvery time.Duration
	askEvery time.Duration // ARP and NS
	asks     atomic.Pointer[questions]

	ports [2]uint16 // of the sockets for IPv4 and IPv6
	send  int       // packet socket
	fds   []int
	seq   uint64
	stop  atomic.Bool
	done  chan struct{}
}

// questions are what the nodes are asked, at the MAC addresses that they have.
type questions struct {
	udp   []ends
	asked [][]byte // ready for the wire
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

func (d *direct) open() (err error) {
	defer try.Catch(&err)
	monitor := d.lab.monitor
	v4 := try.Get(udpSocket(monitor.Namespace, netip.AddrPortFrom(monitor.Address, 0)))
	d.fds = append(d.fds, v4) // that has the port, so that nobody refuses the answers
	v6 := try.Get(udpSocket(monitor.Namespace, netip.AddrPortFrom(monitor.Addr6, 0)))
	d.fds = append(d.fds, v6)
	d.send = try.Get(packetSocket(monitor.Namespace, 0, try.Get(monitor.linkIndex("eth0"))))
	d.fds = append(d.fds, d.send)
	d.ports = [2]uint16{localPort(v4), localPort(v6)}
	d.prepareAll()
	return nil
}

// prepareAll goes by the MAC addresses that the nodes have now.
func (d *direct) prepareAll() {
	q := &questions{}
	for _, n := range d.lab.Nodes {
		for i, nic := range n.NICs {
			if nic.LAN == 0 {
				d.prepare(q, nic, i)
			}
		}
	}
	d.asks.Store(q)
}

func (d *direct) prepare(q *questions, nic NIC, index int) {
	monitor := d.lab.monitor
	for _, target := range d.targets {
		e := ends{fromMAC: monitor.MAC, toMAC: nic.MAC, to: netip.AddrPortFrom(target, echoPort)}
		if target.Is4() {
			e.from = netip.AddrPortFrom(monitor.Address, d.ports[0])
			q.asked = append(q.asked, arpRequest(e))
		} else {
			e.from = netip.AddrPortFrom(monitor.Addr6, d.ports[1])
			q.asked = append(q.asked, neighborSolicitation(e))
		}
		if index == 0 {
			q.udp = append(q.udp, e)
		}
	}
}

func (d *direct) run() {
	defer close(d.done)
	lockMeasuringThread()
	defer d.closeSockets()
	nextUDP, nextAsk := d.lab.now(), d.lab.now()
	for !d.stop.Load() {
		nap(min(nextUDP, nextAsk) - d.lab.now())
		d.discard()
		now := d.lab.now()
		if now >= nextUDP {
			d.probeUDP()
			nextUDP = max(nextUDP, now-d.udpEvery) + d.udpEvery // what was missed is not made up for
		}
		if now >= nextAsk {
			for _, frame := range d.asks.Load().asked {
				d.write(frame)
			}
			nextAsk = max(nextAsk, now-d.askEvery) + d.askEvery
		}
	}
	nap(20 * time.Millisecond) // until the last answers are in
}

func (d *direct) probeUDP() {
	content := make([]byte, payloadSize)
	payload{seq: d.seq}.put(content)
	d.seq++
	for _, e := range d.asks.Load().udp {
		d.write(udpFrame(e, content))
	}
}

func (d *direct) write(frame []byte) { _, _ = unix.Write(d.send, frame) }

// discard takes the answers away, so that they do not fill the sockets.
func (d *direct) discard() {
	var b [64]byte
	for _, fd := range d.fds {
		for {
			if _, _, err := unix.Recvfrom(fd, b[:], unix.MSG_DONTWAIT); err != nil {
				break
			}
		}
	}
}

func (d *direct) closeSockets() {
	for _, fd := range d.fds {
		unix.Close(fd)
	}
}

func (d *direct) finish() {
	d.stop.Store(true)
	<-d.done
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

// attach returns a socket option that sets a filter.
func attach(program []bpf.Instruction) func(fd int) error {
	return func(fd int) (err error) {
		defer try.Catch(&err)
		raw := try.Get(bpf.Assemble(program))
		filter := make([]unix.SockFilter, len(raw))
		for i, in := range raw {
			filter[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
		}
		return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(filter)), Filter: (*unix.SockFilter)(unsafe.Pointer(&filter[0]))})
	}
}

// Asker asks one node, by its MAC, for many addresses, by ARP and neighbour
// solicitation, and notes when each was answered for the first time. It asks for
// the first few that were not answered yet: more would keep the node from binding.
type Asker struct {
	lab    *Lab
	node   *Node
	frames [][]byte
	index  map[netip.Addr]int
	fd     int
	stop   atomic.Bool
	done   chan struct{}
	first  []time.Duration // owned by run until done
	left   int
}

const (
	askPause = time.Millisecond // between two rounds
	askMost  = 50               // questions in a round
)

// StartAsker begins to ask.
func (l *Lab) StartAsker(n *Node, addrs []netip.Addr) (_ *Asker, err error) {
	defer try.Catch(&err)
	a := &Asker{lab: l, node: n, index: map[netip.Addr]int{}, done: make(chan struct{}), first: make([]time.Duration, len(addrs)), left: len(addrs)}
	m := l.monitor
	for i, addr := range addrs {
		e := ends{fromMAC: m.MAC, toMAC: n.NICs[0].MAC, to: netip.AddrPortFrom(addr, 0)}
		a.index[addr] = i
		if addr.Is4() {
			e.from = netip.AddrPortFrom(m.Address, 0)
			a.frames = append(a.frames, arpRequest(e))
		} else {
			e.from = netip.AddrPortFrom(m.Addr6, 0)
			a.frames = append(a.frames, neighborSolicitation(e))
		}
	}
	a.fd = try.Get(packetSocket(m.Namespace, unix.ETH_P_ALL, try.Get(m.linkIndex("eth0")), incomingAlone))
	go a.run()
	return a, nil
}

func (a *Asker) run() {
	defer close(a.done)
	lockMeasuringThread()
	defer unix.Close(a.fd)
	poll := []unix.PollFd{{Fd: int32(a.fd), Events: unix.POLLIN}}
	var r receiver
	next := a.lab.now()
	for !a.stop.Load() && a.left > 0 {
		waitReadable(poll, next-a.lab.now())
		r.drain(a.fd, a.note)
		if now := a.lab.now(); now >= next {
			a.ask()
			next = now + askPause
		}
	}
}

func (a *Asker) ask() {
	asked := 0
	for i, frame := range a.frames {
		if a.first[i] != 0 {
			continue
		}
		_, _ = unix.Write(a.fd, frame)
		if asked++; asked == askMost || a.left == len(a.frames) {
			return
		}
	}
}

func (a *Asker) note(data []byte, stamp time.Time, _ unix.Sockaddr) {
	said, ok := parseAnnouncement(data)
	if !ok || said.unsolicited || !bytes.Equal(said.mac, a.node.NICs[0].MAC) {
		return
	}
	if i, ours := a.index[said.address]; ours && a.first[i] == 0 {
		a.first[i] = a.lab.instant(stamp)
		a.left--
	}
}

// Finish waits until every address was answered, or for the limit, and returns
// when the last one was answered for the first time.
func (a *Asker) Finish(limit time.Duration) (time.Duration, error) {
	select {
	case <-a.done:
	case <-time.After(limit):
	}
	a.stop.Store(true)
	<-a.done
	var last time.Duration
	for _, at := range a.first {
		last = max(last, at)
	}
	if a.left > 0 {
		return last, fmt.Errorf("lab: %s does not answer for %d of %d addresses", a.node.Label, a.left, len(a.first))
	}
	return last, nil
}
