package lab

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// Downloads is a TCP server of one node that says at once what it has to say, and closes the connection.
type Downloads struct {
	listeners []net.Listener
	wait      sync.WaitGroup
}

// StartDownloads has the node give everybody who connects to its own addresses so many octets.
func (n *Node) StartDownloads(port uint16, size int) (*Downloads, error) {
	d := &Downloads{}
	content := make([]byte, size)
	for _, a := range []netip.Addr{n.Address, n.Addr6} {
		l, err := n.Listen(netip.AddrPortFrom(a, port).String())
		if err != nil {
			d.Close()
			return nil, fmt.Errorf("lab: downloads on %s: %w", n.Label, err)
		}
		d.listeners = append(d.listeners, l)
		d.wait.Go(func() { d.serve(l, content) })
	}
	n.lab.atEnd(d.Close)
	return d, nil
}

func (d *Downloads) serve(l net.Listener, content []byte) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(10 * time.Second))
			_, _ = c.Write(content)
		}()
	}
}

// Close ends the server.
func (d *Downloads) Close() {
	for _, l := range d.listeners {
		_ = l.Close()
	}
	d.wait.Wait()
}

// Download gets all that the server at the target gives, so many times side by side, and returns how many octets came each time within the
// limit, with the error of one that did not end by itself.
func (l *Lab) Download(from *Namespace, target netip.AddrPort, times int, limit time.Duration) ([]int, error) {
	sizes, errs := make([]int, times), make([]error, times)
	var wait sync.WaitGroup
	for i := range times {
		c, err := from.Dial(target, limit)
		if err != nil {
			errs[i] = err
			continue
		}
		wait.Go(func() {
			defer c.Close()
			_ = c.SetReadDeadline(time.Now().Add(limit))
			n, err := io.Copy(io.Discard, c)
			sizes[i], errs[i] = int(n), err
		})
	}
	wait.Wait()
	return sizes, errors.Join(errs...)
}

// NarrowRouter makes the way from the router to the client behind it narrower than the link, in octets of a packet, while the client goes
// on saying that it takes whole ones: whoever sends more is told by the router alone.
func (l *Lab) NarrowRouter(mtu int) (err error) {
	defer try.Catch(&err)
	if l.Router == nil {
		return errors.New("lab: no router: the lab was opened without OffLink")
	}
	size := fmt.Sprint(mtu)
	try.Get(l.Router.Run("ip", "link", "set", "far", "mtu", size))
	try.Get(l.OffLink.Run("ip", "link", "set", "eth0", "mtu", size))
	try.Get(l.OffLink.Run("ip", "route", "replace", "default", "via", "10.97.0.1", "advmss", "1460"))
	return try.Err(l.OffLink.Run("ip", "-6", "route", "replace", "default", "via", "fd97::1", "advmss", "1440"))
}
