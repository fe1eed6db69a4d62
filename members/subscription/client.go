//go:build linux

package subscription

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"syscall"

	"github.com/keepvip/keepvip/members/envelope"
)

// Client is the follower's socket. Send is safe from any goroutine.
type Client struct {
	port      uint16 // of members
	listeners []*listener
	in        chan Packet
	stop      chan struct{}
	done      sync.WaitGroup
}

// mostUnread is more than all members say at once.
const mostUnread = 256

// OpenClient opens the socket to members at that port. Without a key, what a follower asks comes from
// envelope.SourcePort.
func OpenClient(port uint16, signed bool) (*Client, error) {
	own := uint16(envelope.SourcePort)
	if signed {
		own = 0
	}
	c := &Client{port: port, in: make(chan Packet, mostUnread), stop: make(chan struct{})}
	for _, is4 := range []bool{true, false} {
		l, err := listen(own, is4, 0)
		if errors.Is(err, syscall.EAFNOSUPPORT) {
			continue
		}
		if errors.Is(err, syscall.EACCES) {
			err = fmt.Errorf("%w: to ask without a key takes the capability NET_BIND_SERVICE", err)
		}
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		c.listeners = append(c.listeners, l)
		c.done.Go(func() { read(c.stop, l.receive, func(in Packet) { c.hear(in, signed) }) })
	}
	return c, nil
}

// Packets are the messages that come in. Of what comes in faster than it is taken the newest is dropped.
func (c *Client) Packets() <-chan Packet { return c.in }

// hear keeps what has come in. What no key has signed must not have come through a router.
func (c *Client) hear(in Packet, signed bool) {
	if !signed && in.TTL != envelope.HopLimit || !Is(in.Data) {
		return
	}
	in.Data = append([]byte(nil), in.Data...)
	select {
	case c.in <- in:
	default:
	}
}

// Send asks a member.
func (c *Client) Send(a Ask) error {
	for _, l := range c.listeners {
		if (l.v4 != nil) == a.To.Is4() {
			_, err := l.send([]Outgoing{{Data: a.Data, To: netip.AddrPortFrom(a.To, c.port)}})
			return err
		}
	}
	return fmt.Errorf("subscription: this host has no socket to reach %v", a.To)
}

// Close closes the socket, and waits for those who read it.
func (c *Client) Close() error {
	close(c.stop)
	var errs []error
	for _, l := range c.listeners {
		errs = append(errs, l.close())
	}
	c.done.Wait()
	return errors.Join(errs...)
}
