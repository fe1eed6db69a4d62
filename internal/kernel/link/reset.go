package link

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"sync"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// ErrNoDestroy: this kernel was built without CONFIG_INET_DIAG_DESTROY, or is too old to destroy sockets in that state.
var ErrNoDestroy = errors.New("the kernel cannot destroy these sockets: it was built without CONFIG_INET_DIAG_DESTROY, or is too old")

// ResetTCP ends every TCP connection whose local address is one of addrs, and returns how many there were. Each peer gets a reset, as long as
// the address is still bound and resets from it still leave: so this comes before either is taken away. Those of which nothing was heard for
// the longest time are reset first: their peers only listen, and learn of the end by nothing else. Listening sockets stay.
//
// It ends with ctx, a hundred sockets later, or two hundred of many. It needs CAP_NET_ADMIN. The error wraps ErrNoDestroy where that is the cause.
func ResetTCP(ctx context.Context, addrs ...netip.Addr) (int, error) {
	return destroy(ctx, "reset the connections", addrs, connections)
}

// ForgetEnded destroys the sockets of connections that have ended, and whose local address is one of addrs: the kernel remembers them for a
// minute (TIME_WAIT, RFC 9293 section 3.6.1), and takes what comes from the same port of the same client for theirs. It returns how many
// there were. It needs CAP_NET_ADMIN. The error wraps ErrNoDestroy where the kernel cannot do it, which older kernels cannot.
func ForgetEnded(addrs ...netip.Addr) (int, error) {
	return destroy(context.Background(), "forget the ended connections", addrs, 1<<timeWait)
}

// destroy destroys the sockets in those states whose local address is one of addrs; purpose is for the error.
func destroy(ctx context.Context, purpose string, addrs []netip.Addr, states uint32) (n int, err error) {
	s, err := nl.Subscribe(unix.NETLINK_INET_DIAG)
	if err != nil {
		return 0, fmt.Errorf("link: open socket diagnostics: %w", err)
	}
	defer s.Close()
	if n, err = newDiag(s).destroyAt(ctx, addrs, states); err != nil {
		return n, fmt.Errorf("link: %s of %s: %w", purpose, addrs[0], err)
	}
	return n, nil
}

// destroyAt destroys the sockets in those states whose local address is one of addrs, the longest idle first. The error is ErrNoDestroy only
// if the kernel could destroy none: an older one refuses those that no program has any more, and only those.
func (d *diag) destroyAt(ctx context.Context, addrs []netip.Addr, states uint32) (n int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	// A server that listens on both families at once has its IPv4 connections on IPv6 sockets.
	families := []byte{unix.AF_INET6}
	if slices.ContainsFunc(addrs, netip.Addr.Is4) {
		families = []byte{unix.AF_INET, unix.AF_INET6}
	}
	wanted := make(map[netip.Addr]bool, len(addrs))
	for _, a := range addrs {
		wanted[a] = true
	}
	var all []socket
	for _, family := range families {
		sockets, err := d.list(family, tcpInfo, states, localIs(addrs))
		if err != nil {
			return 0, err
		}
		all = append(all, slices.DeleteFunc(sockets, func(s socket) bool { return !wanted[s.local().Addr()] })...)
	}
	if states == connections && len(all) > 0 {
		askBriefly(wanted, all)
	}
	longestIdleFirst(all)
	return d.destroyAll(ctx, all)
}

// manyBatches is from how many batches on two connections to the kernel are worth it: it destroys sockets of both at a time, where there is
// a second processor.
const manyBatches = 10

// destroyAll destroys sockets in their order, a batch at a time, or two if there are many.
func (d *diag) destroyAll(ctx context.Context, all []socket) (int, error) {
	todo := &pending{left: all}
	if len(all) < manyBatches*perBatch || runtime.NumCPU() < 2 {
		n, err := d.destroyEach(ctx, todo)
		if err == nil {
			err = d.able(n)
		}
		return n, err
	}
	s, err := nl.Subscribe(unix.NETLINK_INET_DIAG)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	var more int
	var failed error
	other, done := newDiag(s), make(chan struct{})
	go func() {
		defer close(done)
		more, failed = other.destroyEach(ctx, todo)
	}()
	n, err := d.destroyEach(ctx, todo)
	<-done
	n, d.refused = n+more, d.refused || other.refused
	if err = errors.Join(err, failed); err == nil {
		err = d.able(n)
	}
	return n, err
}

// pending are sockets that are to be destroyed, for all that destroy them.
type pending struct {
	mu   sync.Mutex // guards left
	left []socket
}

// next takes out the next ones; none: there are no more.
func (p *pending) next() []socket {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := p.left[:min(len(p.left), perBatch)]
	p.left = p.left[len(next):]
	return next
}

// destroyEach destroys batches until there is none left.
func (d *diag) destroyEach(ctx context.Context, of *pending) (n int, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		part := of.next()
		if len(part) == 0 {
			return n, nil
		}
		done, err := d.destroy(part)
		n += count(done)
		if err != nil {
			return n, err
		}
	}
}

func longestIdleFirst(all []socket) {
	slices.SortStableFunc(all, func(a, b socket) int { return cmp.Compare(b.idle, a.idle) })
}

func count(done []bool) (n int) {
	for _, d := range done {
		if d {
			n++
		}
	}
	return n
}
