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

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/agent"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/members"
)

// kin shares one socket to the other members among the instances at the same place, whatever their peers.
type kin struct {
	auth    *members.Auth
	port    uint16 // 0: there is none
	node    string
	version string // of this program
	log     *slog.Logger

	mu   sync.Mutex // guards open
	open map[kinKey]*members.Hub
}

type kinKey struct {
	index   int
	source  netip.Addr
	unicast bool
}

func newKin(auth *members.Auth, port uint16, version string, log *slog.Logger) *kin {
	node, _ := os.Hostname() // a node without a name is known by its address
	return &kin{auth: auth, port: port, node: node, version: version, log: log, open: map[kinKey]*members.Hub{}}
}

// helloShare is the time between two HELLOs of all instances together: with many, each speaks less often.
const helloShare = 40 * time.Millisecond

// join lets v, one of so many, know the other members at p. The returned function gives that back.
func (k *kin) join(v config.VIP, p agent.Place, many int) (*election.MembersConfig, func(), error) {
	if k.port == 0 {
		return nil, func() {}, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	key := kinKey{index: p.Index, source: p.Source, unicast: len(v.VRRP.Peers) > 0}
	hub, err := k.hub(key, p)
	if err != nil {
		return nil, nil, err
	}
	group := v.Addresses[0].Addr()
	wire := hub.Join(members.WireConfig{Group: group, Peers: v.VRRP.Peers})
	return &election.MembersConfig{Wire: wire, Machine: members.Config{
		Group: group, Node: k.node, Software: k.version, Session: newSession(), RecoverHold: members.DefaultRecoverHold,
		Every: max(members.DefaultEvery, time.Duration(many)*helloShare),
	}}, func() { k.leave(key, hub, wire) }, nil
}

// hub is the one of that key. The caller holds the lock.
func (k *kin) hub(key kinKey, p agent.Place) (*members.Hub, error) {
	if hub, ok := k.open[key]; ok {
		return hub, nil
	}
	sock, err := k.openSocket(members.ConnConfig{
		Interface: net.Interface{Index: p.Index, Name: p.Name}, Source: p.Source, Port: k.port, Unicast: key.unicast,
	})
	if err != nil {
		return nil, err
	}
	hub := members.NewHub(members.HubConfig{Source: p.Source, Link: strconv.Itoa(p.Index), Auth: k.auth}, sock)
	k.open[key] = hub
	return hub, nil
}

// openSocket waits for a port that another process has: any user's may have taken it first.
func (k *kin) openSocket(cfg members.ConnConfig) (members.Socket, error) {
	conn, err := members.Open(cfg)
	if !errors.Is(err, syscall.EADDRINUSE) {
		return conn, err
	}
	k.log.Warn("another process has the members' port (ss -ulpn tells which): plain VRRP alone until it is free", "error", err)
	return members.NewLate(func() (members.Socket, error) {
		conn, err := members.Open(cfg)
		if err == nil {
			k.log.Info("the members' port is free now", "interface", cfg.Interface.Name)
		}
		return conn, err
	}), nil
}

func (k *kin) leave(key kinKey, hub *members.Hub, wire *members.Wire) {
	k.mu.Lock()
	defer k.mu.Unlock()
	wire.Close()
	k.drop(key, hub)
}

// drop closes a hub that nobody uses. The caller holds the lock.
func (k *kin) drop(key kinKey, hub *members.Hub) {
	if hub.Idle() {
		delete(k.open, key)
		_ = hub.Close() // nothing is lost with a socket that nobody reads
	}
}

func newSession() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:])
}

// prepareMembersKeys derives the keys of the members' messages from those that advertisements have, and returns what takes them
// over.
func prepareMembersKeys(a *members.Auth, k config.Key, secrets []config.Secret) (use func(), err error) {
	if len(secrets) == 0 {
		return func() { a.Set(nil, nil, k.Window) }, nil
	}
	keys := make([]members.Key, len(secrets))
	for i, s := range secrets {
		key, err := members.NewKey(config.DeriveKey(s.Bytes, "members"))
		if err != nil {
			return nil, err
		}
		keys[i] = key
	}
	return func() {
		switch k.Mode {
		case config.KeyReceiveOnly:
			a.Set(nil, nil, k.Window)
		case config.KeyPermissive:
			a.Set(&keys[0], nil, k.Window)
		default:
			a.Set(&keys[0], keys, k.Window)
		}
	}, nil
}
