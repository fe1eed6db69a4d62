package daemon

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/keepvip/keepvip/election/virtualrouter"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/instance"
	"github.com/keepvip/keepvip/members"
)

// memberSockets shares one socket to the other members among the instances at the same place, whatever their peers.
type memberSockets struct {
	auth    *members.Auth
	port    uint16 // 0: there is none
	node    string
	version string // of this program
	log     *slog.Logger

	mu   sync.Mutex // guards open
	open map[memberSocketKey]*members.Hub
}

type memberSocketKey struct {
	index   int
	source  netip.Addr
	unicast bool
}

func newMemberSockets(auth *members.Auth, port uint16, version string, log *slog.Logger) *memberSockets {
	node, _ := os.Hostname() // a node without a name is known by its address
	return &memberSockets{auth: auth, port: port, node: node, version: version, log: log, open: map[memberSocketKey]*members.Hub{}}
}

// helloShare is the time between two HELLOs of all instances together: with many, each speaks less often.
const helloShare = 40 * time.Millisecond

// join lets v, one of so many, know the other members at p. The returned function gives that back.
func (s *memberSockets) join(v config.VIP, p instance.Place, many int) (*virtualrouter.MembersConfig, func(), error) {
	if s.port == 0 {
		return nil, func() {}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := memberSocketKey{index: p.Index, source: p.Source, unicast: len(v.VRRP.Peers) > 0}
	hub, err := s.hub(key, p)
	if err != nil {
		return nil, nil, err
	}
	group := v.Addresses[0].Addr()
	wire := hub.Join(members.WireConfig{Group: group, Peers: v.VRRP.Peers})
	return &virtualrouter.MembersConfig{Wire: wire, Machine: members.Config{
		Group: group, Node: s.node, Software: s.version, Session: newSession(), RecoverHold: members.DefaultRecoverHold,
		Every: max(members.DefaultEvery, time.Duration(many)*helloShare),
	}}, func() { s.leave(key, hub, wire) }, nil
}

// hub is the one of that key. The caller holds the lock.
func (s *memberSockets) hub(key memberSocketKey, p instance.Place) (*members.Hub, error) {
	if hub, ok := s.open[key]; ok {
		return hub, nil
	}
	sock, err := s.openSocket(members.ConnConfig{
		Interface: net.Interface{Index: p.Index, Name: p.Name}, Source: p.Source, Port: s.port, Unicast: key.unicast,
	})
	if err != nil {
		return nil, err
	}
	hub := members.NewHub(members.HubConfig{Source: p.Source, Link: strconv.Itoa(p.Index), Auth: s.auth}, sock)
	s.open[key] = hub
	return hub, nil
}

// openSocket waits for a port that another process has: any user's may have taken it first.
func (s *memberSockets) openSocket(cfg members.ConnConfig) (members.Socket, error) {
	conn, err := members.Open(cfg)
	if !errors.Is(err, syscall.EADDRINUSE) {
		return conn, err
	}
	s.log.Warn("another process has the members' port (ss -ulpn tells which): plain VRRP alone until it is free", "error", err)
	return members.NewLate(func() (members.Socket, error) {
		conn, err := members.Open(cfg)
		if err == nil {
			s.log.Info("the members' port is free now", "interface", cfg.Interface.Name)
		}
		return conn, err
	}), nil
}

func (s *memberSockets) leave(key memberSocketKey, hub *members.Hub, wire *members.Wire) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wire.Close()
	s.drop(key, hub)
}

// drop closes a hub that nobody uses. The caller holds the lock.
func (s *memberSockets) drop(key memberSocketKey, hub *members.Hub) {
	if hub.Idle() {
		delete(s.open, key)
		_ = hub.Close() // nothing is lost with a socket that nobody reads
	}
}

func newSession() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:])
}
