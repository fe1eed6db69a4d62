package daemon

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"

	"github.com/keepvip/keepvip/election/virtualrouter"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/vrrp"
)

// vrrpSockets shares one VRRP socket among the instances at the same place, whatever their peers.
type vrrpSockets struct {
	auth   *vrrp.Auth
	raised func(bearer int) bool
	log    *slog.Logger
	hubs   pool[socketKey, *virtualrouter.Hub]

	mu      sync.Mutex // guards routers
	routers map[router]bool
}

// router is a Virtual Router on the wire. There can be only one of it on this node.
type router struct {
	index int // of the interface
	ipv4  bool
	id    uint8
}

// socketKey is what tells sockets of one protocol apart.
type socketKey struct {
	index   int
	source  netip.Addr
	unicast bool
	minTTL  uint8
	group   netip.Addr
	bearer  int // the link of the virtual MAC that what is sent has; 0: it has that of the interface
}

func newVRRPSockets(auth *vrrp.Auth, raised func(bearer int) bool, log *slog.Logger) *vrrpSockets {
	return &vrrpSockets{auth: auth, raised: raised, log: log, routers: map[router]bool{}}
}

// join returns a wire at p, and what gives it back: the socket goes with its last wire.
func (s *vrrpSockets) join(p instance.Place, cfg virtualrouter.Config, set config.VRRP, log *slog.Logger) (virtualrouter.Wire, func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := router{index: p.Index, ipv4: p.Source.Is4(), id: cfg.Router.VRID}
	if s.routers[r] { // the link was not there when the configuration was checked
		return nil, nil, fmt.Errorf("VRID %d is also that of another entry on %s, want another", r.id, p.Name)
	}
	key := socketKey{index: p.Index, source: p.Source, unicast: len(cfg.Peers) > 0, minTTL: set.MinTTL, group: set.MulticastGroup}
	conn := vrrp.ConnConfig{
		Interface: net.Interface{Index: p.Index, Name: p.Name}, Source: p.Source, Peers: set.Peers, MinTTL: set.MinTTL, Group: set.MulticastGroup,
	}
	if cfg.Framed {
		key.bearer = p.Bearer.Index
		conn.MAC, conn.Held = link.RouterMAC(r.ipv4, cfg.Router.VRID), func() bool { return s.raised(p.Bearer.Index) }
	}
	hub, release, err := s.hubs.get(key, func() (*virtualrouter.Hub, error) { return s.open(conn) })
	if err != nil {
		return nil, nil, fmt.Errorf("socket on %s: %w", p.Name, err)
	}
	wire, err := hub.Join(cfg, log)
	if err != nil {
		release()
		return nil, nil, err
	}
	s.routers[r] = true
	return wire, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.routers, r)
		_ = wire.Close() // only the filter of a socket that may be closed next
		release()
	}, nil
}

func (s *vrrpSockets) open(cfg vrrp.ConnConfig) (*virtualrouter.Hub, error) {
	conn, err := vrrp.Open(cfg)
	if err != nil {
		return nil, err
	}
	return virtualrouter.NewHub(conn, cfg, s.auth, s.log.With("interface", cfg.Interface.Name)), nil
}
