package daemon

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"sync"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/agent"
	"github.com/keepvip/keepvip/vrrp"
)

// hubs shares one VRRP socket among the instances at the same place, whatever their peers.
type hubs struct {
	auth *election.Auth
	log  *slog.Logger

	mu      sync.Mutex // guards what follows
	open    map[hubKey]*election.Hub
	routers map[router]bool
}

// router is a Virtual Router on the wire. There can be only one of it on this node.
type router struct {
	index int // of the interface
	ipv4  bool
	id    uint8
}

type hubKey struct {
	index   int
	source  netip.Addr
	unicast bool
}

func newHubs(auth *election.Auth, log *slog.Logger) *hubs {
	return &hubs{auth: auth, log: log, open: map[hubKey]*election.Hub{}, routers: map[router]bool{}}
}

// join returns a wire at p, and what gives it back: the socket goes with its last wire.
func (h *hubs) join(p agent.Place, cfg election.WireConfig) (election.Wire, func(), error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := router{index: p.Index, ipv4: p.Source.Is4(), id: cfg.VRID}
	if h.routers[r] { // the link was not there when the configuration was checked
		return nil, nil, fmt.Errorf("VRID %d is also that of another entry on %s, want another", r.id, p.Name)
	}
	key := hubKey{index: p.Index, source: p.Source, unicast: len(cfg.Peers) > 0}
	hub, ok := h.open[key]
	if !ok {
		conn, err := vrrp.Open(vrrp.ConnConfig{
			Interface: net.Interface{Index: p.Index, Name: p.Name}, Source: p.Source, Peers: cfg.Peers,
		})
		if err != nil {
			return nil, nil, fmt.Errorf("socket on %s: %w", p.Name, err)
		}
		hub = election.NewHub(election.HubConfig{
			Source: p.Source, Link: strconv.Itoa(p.Index), Auth: h.auth, Log: h.log.With("interface", p.Name),
		}, conn)
		h.open[key] = hub
	}
	wire, err := hub.Join(cfg)
	if err != nil {
		h.drop(key, hub)
		return nil, nil, err
	}
	h.routers[r] = true
	return wire, func() { h.leave(key, r, hub, wire) }, nil
}

func (h *hubs) leave(key hubKey, r router, hub *election.Hub, wire election.Wire) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.routers, r)
	_ = wire.Close() // only the filter of a socket that may be closed next
	h.drop(key, hub)
}

// drop closes a hub that nobody uses. The caller holds the lock.
func (h *hubs) drop(key hubKey, hub *election.Hub) {
	if hub.Idle() {
		delete(h.open, key)
		_ = hub.Close() // nothing is lost with a socket that nobody reads
	}
}
