package health

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/base/lack"
	"github.com/keepvip/keepvip/internal/config"
)

// tcpProber connects, and says nothing.
type tcpProber struct {
	address string
	timeout time.Duration // for the reason only
	dialer  net.Dialer
	idle    *idleWatch
}

var _ watcher = (*tcpProber)(nil)

// TCP makes the Prober of a TCP endpoint, such as "127.0.0.1:5432": it is healthy when it accepts connections.
func TCP(h config.ListedCheck) (Prober, error) {
	host, port, err := net.SplitHostPort(h.Address)
	if err != nil || host == "" || port == "" {
		return nil, fmt.Errorf("health: address %q, want host:port", h.Address)
	}
	return &tcpProber{address: h.Address, timeout: h.Timeout, dialer: net.Dialer{KeepAlive: -1}, idle: newIdleWatch(h.Watch)}, nil
}

// Watch implements [watcher].
func (p *tcpProber) Watch(ctx context.Context, changed func()) (wait func()) {
	return p.idle.watch(ctx, changed)
}

// Probe implements [Prober].
func (p *tcpProber) Probe(ctx context.Context) Result {
	conn, err := p.dialer.DialContext(ctx, "tcp", p.address)
	if lacks := lack.OfDial(ctx, err, p.address); lacks != "" {
		return unasked(lacks, err)
	}
	if err != nil {
		return p.failed(ctx, err)
	}
	if now := time.Now(); p.idle.wanted(now) {
		p.idle.adopt(conn, now)
	} else {
		_ = conn.Close() // nothing was written
	}
	return Result{Outcome: Pass, Reason: "connected"}
}

func (p *tcpProber) failed(ctx context.Context, err error) Result {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		p.idle.drop(false)
		return Result{Outcome: Down, Code: code.CheckRefused, Reason: "connection refused"}
	case isTimeout(ctx, err):
		p.idle.drop(true)
		return Result{Outcome: Fail, Code: code.CheckTimeout, Reason: fmt.Sprintf("timeout after %v connecting", p.timeout)}
	}
	return Result{Outcome: Fail, Reason: brief(err)}
}
