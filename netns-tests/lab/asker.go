package lab

import (
	"bytes"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// Asker asks one node, by its MAC, for many addresses, by ARP and neighbour
// solicitation, and notes when each was answered for the first time. It asks for
// the first few that were not answered yet: more would keep the node from binding.
type Asker struct {
	measuring
	lab    *Lab
	node   *Node
	frames [][]byte
	index  map[netip.Addr]int
	fd     int
	first  []time.Duration // owned by run until it has ended
	left   int
}

const (
	askPause = time.Millisecond // between two rounds
	askMost  = 50               // questions in a round
)

// StartAsker begins to ask.
func (l *Lab) StartAsker(n *Node, addrs []netip.Addr) (_ *Asker, err error) {
	defer try.Catch(&err)
	a := &Asker{lab: l, node: n, index: map[netip.Addr]int{}, first: make([]time.Duration, len(addrs)), left: len(addrs)}
	m := l.monitor
	for i, addr := range addrs {
		a.index[addr] = i
		a.frames = append(a.frames, m.question(n.NICs[0].MAC, addr))
	}
	a.fd = try.Get(packetSocket(m.Namespace, unix.ETH_P_ALL, try.Get(m.linkIndex("eth0")), incomingAlone))
	a.start(a.run)
	return a, nil
}

func (a *Asker) run() {
	defer unix.Close(a.fd)
	poll := []unix.PollFd{{Fd: int32(a.fd), Events: unix.POLLIN}}
	var r receiver
	next := a.lab.Now()
	for !a.stop.Load() && a.left > 0 {
		waitReadable(poll, next-a.lab.Now())
		r.drain(a.fd, a.note)
		if now := a.lab.Now(); now >= next {
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
	a.halt()
	last := longest(a.first, func(at time.Duration) time.Duration { return at })
	if a.left > 0 {
		return last, fmt.Errorf("lab: %s does not answer for %d of %d addresses", a.node.Label, a.left, len(a.first))
	}
	return last, nil
}
