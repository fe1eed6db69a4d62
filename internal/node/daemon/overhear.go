package daemon

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/vrrp"
)

const (
	// overhearFor is how long a foreign host is waited for: the longest Advertisement_Interval (RFC 9568 section 5.2.7), and some.
	overhearFor = 45 * time.Second
	// mostOverhearing bounds the sockets that hosts on the link can make this node open.
	mostOverhearing = 16
)

// overhearing listens to foreign hosts. Instances that have the same conflict share one socket.
type overhearing struct {
	mu    sync.Mutex // guards calls
	calls map[foreignHost]*overheard
}

type foreignHost struct {
	index int
	mac   string
	ipv4  bool
}

type overheard struct {
	done chan struct{}
	says *instance.Router // valid when done is closed
}

// Overhear implements address.Host.
func (h *host) Overhear(ctx context.Context, p instance.Place, address netip.Addr, mac string) *instance.Router {
	c := h.foreign.call(p, address.Is4(), mac, func(err error) {
		h.log.Debug("what a foreign host says by VRRP is not known", "mac", mac, "interface", p.Name, "error", err)
	})
	if c == nil {
		return nil
	}
	select {
	case <-c.done:
		return c.says
	case <-ctx.Done():
		return nil
	}
}

// call joins what listens to the host already, or begins to; nil where that are too many.
func (o *overhearing) call(p instance.Place, ipv4 bool, mac string, failed func(error)) *overheard {
	who := foreignHost{p.Index, mac, ipv4}
	o.mu.Lock()
	defer o.mu.Unlock()
	if c := o.calls[who]; c != nil {
		return c
	}
	if len(o.calls) >= mostOverhearing {
		return nil
	}
	c := &overheard{done: make(chan struct{})}
	if o.calls == nil {
		o.calls = map[foreignHost]*overheard{}
	}
	o.calls[who] = c
	go func() {
		ctx, stop := context.WithTimeout(context.Background(), overhearFor)
		defer stop()
		says, err := overhear(ctx, p, ipv4, mac)
		if err != nil {
			failed(err)
		}
		c.says = says
		o.mu.Lock()
		delete(o.calls, who)
		o.mu.Unlock()
		close(c.done)
	}()
	return c
}

func overhear(ctx context.Context, p instance.Place, ipv4 bool, mac string) (*instance.Router, error) {
	address, err := net.ParseMAC(mac)
	if err != nil {
		return nil, err
	}
	o, err := vrrp.Overhear(ctx, net.Interface{Index: p.Index, Name: p.Name}, address, ipv4)
	if err != nil {
		return nil, err
	}
	return &instance.Router{Source: o.Source, Version: o.Version, VRID: o.VRID, Priority: o.Priority}, nil
}
