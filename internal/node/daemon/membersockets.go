package daemon

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"github.com/keepvip/keepvip/election/virtualrouter"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/members/lifeline"
	"github.com/keepvip/keepvip/members/subscription"
)

// memberSockets shares one socket to the other members among the instances at the same place, whatever their peers.
type memberSockets struct {
	auth    *members.Auth
	port    uint16 // 0: there is none
	node    string
	version string // of this program
	log     *slog.Logger
	hubs    pool[socketKey, *memberHub]
	lines   *lifelines
	pulses  pool[socketKey, hubPulse]
	routers func(index int, v6 bool) ([]netip.Addr, error) // of the default routes of an interface, the best first
	// followers ask at the port, too; nil: nobody does.
	followers *subscription.Server
}

// memberHub is a hub with the lines of its place.
type memberHub struct {
	*members.Hub
	lines *lifeline.Lines // nil: there are none
	leave func()
}

// Close implements io.Closer.
func (h *memberHub) Close() error {
	h.leave()
	return h.Hub.Close()
}

// speak lets the others know the lines of this node by a session that they hear.
func (h *memberHub) speak(session uint64) (end func()) {
	if h.lines == nil {
		return func() {}
	}
	return h.lines.Speak(session)
}

func newMemberSockets(auth *members.Auth, port uint16, version string, lines *lifelines, log *slog.Logger) *memberSockets {
	node, _ := os.Hostname() // a node without a name is known by its address
	return &memberSockets{auth: auth, port: port, node: node, version: version, lines: lines, log: log}
}

// helloShare is the time between two HELLOs of all instances together: with many, each speaks less often.
const helloShare = 40 * time.Millisecond

// spreadShare is the same for the instances that spread, where these are many.
const spreadShare = 10 * time.Millisecond

// spreadEvery is the least time between two HELLOs of each instance that spreads.
func spreadEvery(whole *config.Config) (every time.Duration) {
	for _, v := range whole.VIPs {
		if v.Spread.Via != config.ViaOff {
			every += spreadShare
		}
	}
	return every
}

// join lets v, one of so many, know the other members at p: cfg gets what an elector needs for that. The returned
// function gives that back. With an error cfg is as it was.
func (s *memberSockets) join(cfg *virtualrouter.Config, v config.VIP, p instance.Place, many int, spreadEvery time.Duration) (*lifeline.Lines, func(), error) {
	if s.port == 0 {
		return nil, func() {}, nil
	}
	key := socketKey{index: p.Index, source: p.Source, unicast: len(v.VRRP.Peers) > 0}
	hub, release, err := s.hubs.get(key, func() (*memberHub, error) { return s.open(key, p) })
	if err != nil {
		return nil, nil, err
	}
	group := v.First()
	session := newSession()
	silent := hub.speak(session)
	wire := hub.Join(group, v.VRRP.Peers, v.VRRP.MinTTL)
	cfg.Members, cfg.AsMember = wire, members.Config{
		Group: group, Node: s.node, Software: s.version, Session: session, RecoverHold: members.DefaultRecoverHold,
		Every: max(members.DefaultEvery, time.Duration(many)*helloShare), SpreadEvery: spreadEvery, MTU: mtuOf(p.Index),
	}
	calm := s.feel(cfg, v, key, p, hub)
	return hub.lines, func() { calm(); silent(); wire.Close(); release() }, nil
}

// mtuOf is 0 for an interface that is gone, and for one like loopback whose MTU no other host can have.
func mtuOf(index int) uint16 {
	ifi, err := net.InterfaceByIndex(index)
	if err != nil || ifi.MTU > math.MaxUint16 {
		return 0
	}
	return uint16(ifi.MTU)
}

func (s *memberSockets) open(key socketKey, p instance.Place) (*memberHub, error) {
	at := members.ConnConfig{
		Interface: net.Interface{Index: key.index, Name: p.Name}, Source: key.source, Port: s.port, Unicast: key.unicast,
		Other: s.asked(key),
	}
	sock, err := s.openSocket(at)
	if err != nil {
		return nil, err
	}
	lines, giveBack := s.lines.at(p)
	if lines == nil {
		return &memberHub{Hub: members.NewHub(sock, at, s.auth, nil), leave: giveBack}, nil
	}
	hub := members.NewHub(sock, at, s.auth, lines.Heard)
	deaf := lines.Follow(hub.LineEnded)
	return &memberHub{Hub: hub, lines: lines, leave: func() { deaf(); giveBack() }}, nil
}

// asked takes what followers ask by way of the socket of an own address, which hides the port from their own.
func (s *memberSockets) asked(key socketKey) func(b []byte, from netip.AddrPort, ttl int) bool {
	if !key.unicast || s.followers == nil {
		return nil
	}
	return func(b []byte, from netip.AddrPort, ttl int) bool {
		if !subscription.Is(b) {
			return false
		}
		s.followers.Hear(subscription.Packet{Data: b, From: from, To: key.source, TTL: ttl})
		return true
	}
}

// openSocket waits for a port that another process has: any user's may have taken it first.
func (s *memberSockets) openSocket(cfg members.ConnConfig) (members.Socket, error) {
	conn, err := members.Open(cfg)
	if !errors.Is(err, syscall.EADDRINUSE) {
		return conn, err
	}
	s.log.Warn("another process has the members' port (ss -ulpn tells which): plain VRRP alone until it is free", "code", string(code.MembersUnheard), "error", err)
	return members.NewLate(func() (members.Socket, error) {
		conn, err := members.Open(cfg)
		if err == nil {
			s.log.Info("the members' port is free now", "interface", cfg.Interface.Name)
		}
		return conn, err
	}), nil
}

func newSession() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:])
}
