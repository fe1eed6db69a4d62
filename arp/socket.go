package arp

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	"github.com/mdlayher/packet"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// frameLen is the longest frame that is read: neighbour discovery is not fragmented, and anything longer is cut off and then refused.
const frameLen = 1514

const (
	// goneCheck is how long after a link went down it is looked at again.
	goneCheck = time.Second
	// reopenAfter is how long a socket that failed is left alone.
	reopenAfter = time.Second
)

// family is the EtherType that carries the claims of an address family.
type family int

const (
	byARP family = unix.ETH_P_ARP
	byND  family = unix.ETH_P_IPV6
)

func familyOf(a netip.Addr) family {
	if a.Is4() {
		return byARP
	}
	return byND
}

func (f family) filter(addrs []netip.Addr) ([]bpf.RawInstruction, error) {
	if f == byARP {
		return bpf.Assemble(arpFilter(addrs))
	}
	return bpf.Assemble(ndFilter(addrs))
}

// listenSocket is the listener's socket of one family. Its fields belong to who holds the Listener's lock.
type listenSocket struct {
	sock *packet.Conn // nil while it cannot be opened
	stop context.CancelFunc
}

// listen makes the socket of a family let in the addresses that are watched now. The caller holds the lock.
func (l *Listener) listen(f family) {
	if e, ok := l.sockets[f]; ok {
		if e.sock != nil {
			l.note(l.setFilter(f, e.sock))
		}
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	e := &listenSocket{sock: l.open(f), stop: stop}
	l.sockets[f] = e
	sock := e.sock
	l.hearing.Go(func() { l.hear(ctx, f, e, sock) })
}

func (l *Listener) setFilter(f family, sock *packet.Conn) error {
	filter, err := f.filter(l.addresses(f))
	if err != nil {
		return err
	}
	return sock.SetBPF(filter)
}

// open returns nil if that is not possible. The caller holds the lock.
func (l *Listener) open(f family) *packet.Conn {
	filter, err := f.filter(l.addresses(f))
	if err != nil {
		l.note(err)
		return nil
	}
	sock, err := packet.Listen(&l.ifi, packet.Raw, int(f), &packet.Config{Filter: filter})
	if err != nil {
		l.note(privilege(err))
		return nil
	}
	return sock
}

func (l *Listener) note(err error) {
	if err != nil {
		l.failed(fmt.Errorf("arp: listen on %s: %w", l.ifi.Name, err))
	}
}

// hear reports what comes in until ctx ends, with a new socket for each that fails.
func (l *Listener) hear(ctx context.Context, f family, e *listenSocket, sock *packet.Conn) {
	for {
		if sock != nil {
			err := receive(ctx, sock, l.dispatch)
			l.lose(e)
			_ = sock.Close() // here and not in leave: the kernel takes its time
			if ctx.Err() == nil {
				l.note(err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(reopenAfter):
			sock = l.reopen(ctx, f, e)
		}
	}
}

func (l *Listener) reopen(ctx context.Context, f family, e *listenSocket) *packet.Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ctx.Err() != nil {
		return nil
	}
	e.sock = l.open(f)
	return e.sock
}

// lose takes a socket out of use that is about to be closed.
func (l *Listener) lose(e *listenSocket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.sock = nil
}

// receive passes claims on until ctx ends, or the socket fails.
func receive(ctx context.Context, sock *packet.Conn, report func(Claim)) error {
	defer context.AfterFunc(ctx, func() { _ = sock.SetReadDeadline(time.Unix(1, 0)) })()
	buf := make([]byte, frameLen)
	for {
		n, _, err := sock.ReadFrom(buf)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, unix.ENETDOWN), errors.Is(err, os.ErrDeadlineExceeded):
			// The kernel says that a link went down, and nothing more if it is then deleted.
			if gone(sock) {
				return ErrGone
			}
			err = sock.SetReadDeadline(time.Now().Add(goneCheck))
			if ctx.Err() != nil || err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		}
		if c, ok := parseClaim(buf[:n]); ok {
			report(c)
		}
	}
}

// gone tells a deleted interface from one that is down: the kernel unbinds the socket.
func gone(sock *packet.Conn) bool {
	raw, err := sock.SyscallConn()
	if err != nil {
		return true
	}
	_, err = hardwareAddr(raw)
	return errors.Is(err, ErrGone)
}
