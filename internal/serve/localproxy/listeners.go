package localproxy

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"syscall"
)

// addresses are those of host:port, as an option has it. localhost is both families.
func addresses(at string) ([]netip.AddrPort, error) {
	host, text, err := net.SplitHostPort(at)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, err
	}
	names := []string{host}
	if host == "localhost" {
		names = []string{"127.0.0.1", "::1"}
	}
	var out []netip.AddrPort
	for _, name := range names {
		a, err := netip.ParseAddr(name)
		if err != nil {
			return nil, err
		}
		out = append(out, netip.AddrPortFrom(a.Unmap(), uint16(port)))
	}
	return out, nil
}

// Move has the proxy listen at host:port of loopback, and nowhere else. Connections go on. With an error nothing has
// changed.
func (p *Proxy) Move(at string) error {
	to, err := addresses(at)
	if err != nil {
		return err
	}
	return p.move(to)
}

// move leaves an IPv6 address out on a host without IPv6, if there is another.
func (p *Proxy) move(to []netip.AddrPort) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dialing.Err() != nil {
		return net.ErrClosed
	}
	var next, opened []*net.TCPListener
	for _, a := range to {
		// One that stays is not opened a second time: the kernel would refuse its address.
		if i := slices.IndexFunc(p.listeners, func(l *net.TCPListener) bool { return addressOf(l) == a }); i >= 0 {
			next = append(next, p.listeners[i])
			continue
		}
		l, err := listen(a, len(to) > 1)
		if err != nil {
			return errors.Join(err, shut(opened))
		}
		if l != nil {
			next, opened = append(next, l), append(opened, l)
		}
	}
	if len(next) == 0 {
		return fmt.Errorf("localproxy: nothing to listen on in %s", to)
	}
	gone := slices.DeleteFunc(p.listeners, func(l *net.TCPListener) bool { return slices.Contains(next, l) })
	p.listeners = next
	for _, l := range opened {
		p.running.Go(func() { p.accept(l) })
	}
	_ = shut(gone) // they listen no more, whatever it says
	return nil
}

// listen returns nil for an address that a host without IPv6 does without.
func listen(a netip.AddrPort, dispensable bool) (*net.TCPListener, error) {
	if !a.Addr().IsLoopback() {
		return nil, fmt.Errorf("localproxy: listen on %s: want an address of loopback", a)
	}
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(a))
	if a.Addr().Is6() && dispensable && (errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT)) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("localproxy: %w", err)
	}
	return l, nil
}

func addressOf(l *net.TCPListener) netip.AddrPort {
	a := l.Addr().(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}

func (p *Proxy) unlisten() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return shut(p.listeners)
}

func shut(all []*net.TCPListener) error {
	var errs []error
	for _, l := range all {
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
