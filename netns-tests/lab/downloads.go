package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// StartDownloads has the node give everybody who connects to its own addresses so many octets, until the lab ends.
func (n *Node) StartDownloads(port uint16, size int) (err error) {
	defer try.Say(&err, "lab: downloads on %s", n.Label)
	content := make([]byte, size)
	s := try.Get(n.serve(func(_ context.Context, c net.Conn) error {
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		return try.Err(c.Write(content))
	}, netip.AddrPortFrom(n.Address, port).String(), netip.AddrPortFrom(n.Addr6, port).String()))
	n.lab.atEnd(s.Close)
	return nil
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
