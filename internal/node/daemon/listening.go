package daemon

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/base/nudge"
	"github.com/keepvip/keepvip/internal/base/places"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/serve/localproxy"
)

// listening is for programs of a member that cannot use the virtual address: they connect to follow.listen, and from there on their connections are
// like those of any program of this host to the virtual address. The tables of the spread service divide these, and end those to a dead member, so
// nothing here knows the members.
//
// A port that somebody else has keeps nothing from starting: the same configuration is on all nodes, and the address matters more.
type listening struct {
	log  *slog.Logger
	open func(p *localproxy.Proxy, at string) (localproxy.Listener, error)
	// from is the own address from which a virtual one is connected to. The kernel of a holder would choose the virtual address itself, and the
	// connections would end when that moves.
	from func(virtual netip.Addr) netip.Addr
	// owner names the user who connects; nil: all are one.
	owner places.Asker
	wake  nudge.Signal // wanted has changed

	mu     sync.Mutex // guards what follows
	wanted listeningFor
	is     listeningFor // as it is now; at is "" without proxy
	proxy  localproxy.Listener
	failed error // why it is not as wanted
}

// listeningFor is where programs connect, and where their connections go.
type listeningFor struct {
	at string // "": nowhere
	to []netip.AddrPort
	// connections is how many there may be at a time; 0: as many as this host has room for.
	connections int
}

// listenAgain is how long is waited for a port that somebody else has.
const listenAgain = 5 * time.Second

func newListening(log *slog.Logger, from func(virtual netip.Addr) netip.Addr) *listening {
	return &listening{log: log, from: from, wake: nudge.New(), open: func(p *localproxy.Proxy, at string) (localproxy.Listener, error) {
		return p, p.Open(at)
	}}
}

// ownToward is the own address where the virtual address to would be; none, if that is not known, or good on its link alone: the kernel has to choose.
func (h hostLinks) ownToward(to netip.Addr, vips []config.VIP) netip.Addr {
	for _, v := range vips {
		if !slices.ContainsFunc(v.Addresses, func(p netip.Prefix) bool { return p.Addr() == to }) {
			continue
		}
		p, err := h.places(v)
		if err != nil {
			break
		}
		if own := h.own.toward(p, []netip.Addr{to}); len(own) > 0 && !own[0].IsLinkLocalUnicast() {
			return own[0]
		}
	}
	return netip.Addr{}
}

// use has it listen as cfg says, from soon on.
func (l *listening) use(cfg *config.Config) {
	var next listeningFor
	if to := cfg.FollowTargets(); cfg.Follow.OnMembers && len(to) > 0 {
		next = listeningFor{at: cfg.Follow.Listen, to: to, connections: cfg.Follow.Connections}
	}
	l.mu.Lock()
	l.wanted = next
	l.mu.Unlock()
	l.wake.Send()
}

// run listens until ctx ends. Connections end with it: their process does.
func (l *listening) run(ctx context.Context) {
	again := time.NewTimer(listenAgain)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			l.mu.Lock()
			defer l.mu.Unlock()
			l.end()
			return
		case <-l.wake:
		case <-again.C:
		}
		if !l.step() {
			again.Reset(listenAgain)
		}
	}
}

// step makes it so, and reports whether it is.
func (l *listening) step() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wanted.at == "" {
		l.end()
		l.failed = nil
		return true
	}
	if l.proxy != nil && !slices.Equal(l.is.to, l.wanted.to) {
		l.proxy.SetFallback(l.wanted.to)
		l.is.to = l.wanted.to
		l.log.Info("programs that connect at follow.listen are connected to another address", "address", l.is.at, "to", l.is.to)
	}
	if l.proxy != nil && l.is.connections != l.wanted.connections {
		l.proxy.SetConnections(l.wanted.connections)
		l.is.connections = l.wanted.connections
	}
	if err := l.moveTo(l.wanted.at); err != nil {
		if l.failed == nil || l.failed.Error() != err.Error() {
			l.log.Warn("programs of this host cannot connect at follow.listen; keepvip tries again and again", "code", string(code.NotListening), "error", err,
				"remedy", code.NotListening.Entry().Remedy)
		}
		l.failed = err
		return false
	}
	if l.is.at != l.wanted.at || l.failed != nil {
		l.log.Info("programs of this host can connect at follow.listen", "address", l.wanted.at, "to", l.wanted.to)
	}
	l.is, l.failed = l.wanted, nil
	return true
}

// moveTo opens the listener, or has the one that is open listen somewhere else. With an error that one stays where it is, and its connections go on.
func (l *listening) moveTo(at string) error {
	if l.proxy != nil && l.is.at == at {
		return nil
	}
	if l.proxy != nil {
		return l.proxy.Move(at)
	}
	p, err := l.open(&localproxy.Proxy{Fallback: l.wanted.to, From: l.from, Connections: l.wanted.connections, Owner: l.owner, Log: l.log}, at)
	if err == nil {
		l.proxy = p
	}
	return err
}

// end ends the listener and its connections.
func (l *listening) end() {
	if l.proxy == nil {
		return
	}
	if err := localproxy.Cut(l.proxy); err != nil {
		l.log.Warn("the listener of follow.listen has not ended as it should", "error", err)
	}
	l.proxy, l.is = nil, listeningFor{}
}

// ListenerStatus is the part of status that is about follow.listen on a member.
type ListenerStatus struct {
	Address     string           `json:"address"`           // as configured
	To          []netip.AddrPort `json:"to"`                // where connections go: the first that answers
	Connections int              `json:"connections"`       // that are open
	Places      int              `json:"places,omitempty"`  // how many there may be; absent while it is not open
	Lost        uint64           `json:"lost,omitempty"`    // connections that were ended to make room for those of another user
	Problem     string           `json:"problem,omitempty"` // why programs cannot connect there
	Code        code.Code        `json:"code,omitempty"`    // of Problem
}

// status is nil where members do not listen.
func (l *listening) status() *ListenerStatus {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wanted.at == "" {
		return nil
	}
	out := &ListenerStatus{Address: l.wanted.at, To: l.wanted.to}
	if l.proxy != nil {
		stats := l.proxy.Stats()
		out.Connections, out.Places, out.Lost = stats.Open, stats.Places, stats.Lost
	}
	if l.failed != nil {
		out.Problem, out.Code = l.failed.Error(), code.NotListening
	}
	return out
}
