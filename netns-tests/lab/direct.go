package lab

import (
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
	measuring
	lab      *Lab
	targets  []netip.Addr
	udpEvery time.Duration
	askEvery time.Duration // ARP and NS
	asks     atomic.Pointer[questions]

	ports [2]uint16 // of the sockets for IPv4 and IPv6
	send  int       // packet socket
	fds   []int
	seq   uint64
}

// questions are what the nodes are asked, at the MAC addresses that they have.
type questions struct {
	udp   []ends
	asked [][]byte // ready for the wire
}

func (l *Lab) startDirect(targets []netip.Addr, udpEvery, askEvery time.Duration) (*direct, error) {
	d := &direct{lab: l, targets: targets, udpEvery: udpEvery, askEvery: askEvery, send: -1}
	if err := d.open(); err != nil {
		d.closeSockets()
		return nil, err
	}
	d.start(d.run)
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
		q.asked = append(q.asked, monitor.question(nic.MAC, target))
		if index == 0 {
			from := netip.AddrPortFrom(monitor.Address, d.ports[0])
			if target.Is6() {
				from = netip.AddrPortFrom(monitor.Addr6, d.ports[1])
			}
			q.udp = append(q.udp, ends{fromMAC: monitor.MAC, toMAC: nic.MAC, from: from, to: netip.AddrPortFrom(target, echoPort)})
		}
	}
}

func (d *direct) run() {
	defer d.closeSockets()
	nextUDP, nextAsk := d.lab.Now(), d.lab.Now()
	for !d.stop.Load() {
		nap(min(nextUDP, nextAsk) - d.lab.Now())
		d.discard()
		now := d.lab.Now()
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

func localPort(fd int) uint16 {
	local, _ := unix.Getsockname(fd)
	return endpointOf(local).Port()
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
