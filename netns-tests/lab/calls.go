package lab

import (
	"fmt"
	"net/netip"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// CallsConfig describes an attacker on the link that calls TCP ports.
type CallsConfig struct {
	Sources   []netip.Addr // own addresses of the peer, IPv4
	Targets   []netip.AddrPort
	Open      int // so many calls are kept open, each of them silent; the oldest ends for a new one
	PerSecond int // calls in a second
}

// Calls is a stream of connections that say nothing.
type Calls struct {
	stop atomic.Bool
	made atomic.Int64
	done chan struct{}
}

// AddAddress gives the peer one more IPv4 address.
func (p *Peer) AddAddress(a netip.Addr) error {
	_, err := p.Run("ip", "address", "add", a.String()+"/24", "dev", "eth0")
	return err
}

// Call begins to call from the peer.
func (l *Lab) Call(from *Peer, cfg CallsConfig) (*Calls, error) {
	c := &Calls{done: make(chan struct{})}
	ready := make(chan error)
	go func() {
		defer close(c.done)
		runtime.LockOSThread() // never unlocked: the thread has another policy and namespace
		err := from.enter()
		if err == nil {
			err = setScheduler(0, unix.SCHED_NORMAL, 0)
		}
		ready <- err
		if err == nil {
			c.run(l, cfg)
		}
	}()
	if err := <-ready; err != nil {
		return nil, fmt.Errorf("lab: calls from %s: %w", from.Name, err)
	}
	return c, nil
}

func (c *Calls) run(l *Lab, cfg CallsConfig) {
	open := make([]int, cfg.Open)
	defer func() {
		for _, fd := range open {
			if fd > 0 {
				_ = unix.Close(fd)
			}
		}
	}()
	gap, next := time.Second/time.Duration(cfg.PerSecond), l.now()
	for i := 0; !c.stop.Load(); {
		now := l.now()
		next = max(next, now-20*time.Millisecond)
		for ; next <= now; next += gap {
			slot := &open[i%len(open)]
			if *slot > 0 {
				_ = unix.Close(*slot)
			}
			*slot = call(cfg.Sources[i%len(cfg.Sources)], cfg.Targets[i/len(cfg.Sources)%len(cfg.Targets)])
			if *slot > 0 {
				c.made.Add(1)
			}
			i++
		}
		ts := unix.NsecToTimespec(max(next-l.now(), 0).Nanoseconds())
		_ = unix.Nanosleep(&ts, nil)
	}
}

// call begins one connection, and does not wait for it; 0 without success.
func call(from netip.Addr, to netip.AddrPort) int {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	// Closed at once, so that the flood does not run out of ports.
	_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	err = unix.Bind(fd, &unix.SockaddrInet4{Addr: from.As4()})
	if err == nil {
		err = unix.Connect(fd, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()})
	}
	if err != nil && err != unix.EINPROGRESS {
		_ = unix.Close(fd)
		return 0
	}
	return fd
}

// Stop ends the calls and returns how many were made.
func (c *Calls) Stop() int {
	c.stop.Store(true)
	<-c.done
	return int(c.made.Load())
}
