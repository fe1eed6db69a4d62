package lab

import (
	"fmt"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// GreeterConfig says where a greeter listens.
type GreeterConfig struct {
	Port uint16
	// Everywhere: on every address, also those that the node gets later, as an apiserver does. Otherwise on the node's own two alone, so
	// that only what was translated to them can reach it.
	Everywhere bool
	// Quiet is a port where it only takes connections: for a check that leaves an idle one. 0: none.
	Quiet uint16
}

// Greeter is a TCP server of one node. It says in a first line who it is and who the client is to it, and then returns what it is sent, at
// once. Like the echo it is no part of the program under test, and runs before it.
type Greeter struct {
	measuring
	node    *Node
	poll    *poller
	listens map[int]bool
	quiet   map[int]bool     // those of the listeners where nobody is greeted
	conns   map[int]struct{} // owned by run until it has ended
	open    atomic.Int64
	ended   time.Duration // when it ceased to listen; owned by run until then
}

// StartGreeter begins to listen. It ends with the lab, or by [Greeter.Close].
func (n *Node) StartGreeter(cfg GreeterConfig) (*Greeter, error) {
	g := &Greeter{node: n, listens: map[int]bool{}, quiet: map[int]bool{}, conns: map[int]struct{}{}}
	var err error
	if g.poll, err = newPoller(); err != nil {
		return nil, err
	}
	own := []netip.Addr{n.Address, n.Addr6}
	if cfg.Everywhere {
		own = []netip.Addr{netip.IPv6Unspecified()}
	}
	for _, a := range own {
		err := g.listen(netip.AddrPortFrom(a, cfg.Port), false)
		if err == nil && cfg.Quiet != 0 {
			err = g.listen(netip.AddrPortFrom(a, cfg.Quiet), true)
		}
		if err != nil {
			g.release()
			return nil, fmt.Errorf("lab: greeter on %s: %w", n.Label, err)
		}
	}
	g.start(g.run)
	n.lab.atEnd(g.Close)
	return g, nil
}

func (g *Greeter) listen(at netip.AddrPort, quiet bool) error {
	return g.node.Do(func() (err error) {
		defer try.Catch(&err)
		fd := try.Get(socketTCP(at))
		g.listens[fd], g.quiet[fd] = true, quiet
		try.Do(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1))
		try.Do(unix.Bind(fd, sockaddr(at)))
		try.Do(unix.Listen(fd, 4096))
		return g.poll.watch(fd)
	})
}

func (g *Greeter) run() {
	// By this thread, which nothing ordinary keeps waiting between one socket and the next: a process dies with all of them.
	defer g.release()
	buf := make([]byte, 4096)
	for !g.stop.Load() {
		for _, e := range g.poll.wait(100 * time.Millisecond) {
			switch fd := int(e.Fd); {
			case g.listens[fd]:
				g.accept(fd)
			case !g.answer(fd, buf):
				g.drop(fd)
			}
		}
	}
}

// accept greets everybody who waits.
func (g *Greeter) accept(listener int) {
	for {
		fd, from, err := unix.Accept4(listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		if err != nil {
			return
		}
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
		g.conns[fd] = struct{}{}
		g.open.Add(1)
		if !g.quiet[listener] {
			_, err = unix.Write(fd, fmt.Appendf(nil, "%s %s\n", g.node.Label, endpointOf(from)))
		}
		if err != nil || g.poll.watch(fd) != nil {
			g.drop(fd)
		}
	}
}

// answer returns what has come in; false when the connection is over. A client that does not read what is returned loses it.
func (g *Greeter) answer(fd int, buf []byte) bool {
	for {
		n, err := unix.Read(fd, buf)
		switch {
		case err == unix.EAGAIN:
			return true
		case err == unix.EINTR:
			continue
		case err != nil || n == 0:
			return false
		}
		if _, err := unix.Write(fd, buf[:n]); err != nil && err != unix.EAGAIN {
			return false
		}
	}
}

func (g *Greeter) drop(fd int) {
	g.poll.shut(fd)
	delete(g.conns, fd)
	g.open.Add(-1)
}

// Connections is how many clients are connected.
func (g *Greeter) Connections() int { return int(g.open.Load()) }

// Close ends the server and all its connections, as the death of the process would. On a node that is cut off nobody is told.
func (g *Greeter) Close() { g.halt() }

// Ended is when it ceased to listen, once [Greeter.Close] has returned.
func (g *Greeter) Ended() time.Duration { return g.ended }

func (g *Greeter) release() {
	// A child that was forked a moment ago has the listeners, too, until it executes its program: nobody else could listen until then.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	g.ended = g.node.lab.Now()
	for fd := range g.listens {
		unix.Close(fd)
	}
	for fd := range g.conns {
		// Nothing is left of it in the kernel, where a connection would otherwise be closed in order when its node is reachable again.
		_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
		unix.Close(fd)
	}
	g.poll.close()
}
