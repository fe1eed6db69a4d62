package raft

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"github.com/hashicorp/raft"
)

// The bounds of Config.Heartbeat. Below the least a busy machine loses elections to its own scheduler.
const (
	leastHeartbeat = 100 * time.Millisecond
	mostHeartbeat  = 10 * time.Second
)

// Config describes this node's part in a cluster.
type Config struct {
	// Self is this node's own address; the other members reach it there.
	Self netip.Addr
	// Port is the TCP port of all members.
	Port uint16
	// Peers are the members that a new cluster begins with, Self among them, the same on every node, until SetPeers. Later the
	// cluster itself knows who its members are.
	Peers []netip.Addr
	// Witnesses are those members that vote, but never hold an address.
	Witnesses []netip.Addr
	// Heartbeat is after how long without a leader another one is elected, within leastHeartbeat and mostHeartbeat. It has
	// to be the same on all members: those with another one are not talked to.
	Heartbeat time.Duration
	// RemoveDead is after how long a silent voter is removed, as long as enough others live; 0 for never.
	RemoveDead time.Duration
	// Node and Software are this node's name and the version of its program, as the other members show them; either may be empty.
	Node, Software string
	// Stopping tells that this node's electors end because its program does: the others are to read that, and not that an address is not in its
	// election. Nil: never. It is asked from any goroutine.
	Stopping func() bool
	// Dir is where the store lies.
	Dir string
	// Identity is set by UseKeys or UseFiles.
	Identity *Identity
	Log      *slog.Logger
}

func (c Config) validate() error {
	var errs []error
	if !plain(c.Self) || !slices.Contains(c.Peers, c.Self) {
		errs = append(errs, fmt.Errorf("raft: own address %s, want one of the peers", c.Self))
	}
	if c.Heartbeat < leastHeartbeat || c.Heartbeat > mostHeartbeat {
		errs = append(errs, fmt.Errorf("raft: heartbeat timeout %v, want %v to %v", c.Heartbeat, leastHeartbeat, mostHeartbeat))
	}
	if c.Identity == nil || c.Identity.now.Load() == nil {
		errs = append(errs, errNoKey)
	}
	return errors.Join(errs...)
}

// pace is how often a node looks at itself and at the others.
func (c Config) pace() time.Duration { return min(max(c.Heartbeat, 200*time.Millisecond), time.Second) }

// changeTime bounds one change of the membership.
func (c Config) changeTime() time.Duration { return max(4*c.Heartbeat, 2*time.Second) }

func (c Config) witness(a netip.Addr) bool { return slices.Contains(c.Witnesses, a) }

// digest tells lists of members apart.
func digest(peers []netip.Addr) string {
	h := sha256.New()
	for _, p := range sorted(peers) {
		fmt.Fprintln(h, p)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func sorted(addrs []netip.Addr) []netip.Addr {
	return slices.SortedFunc(slices.Values(addrs), netip.Addr.Compare)
}

// firstMembers is the configuration that a new cluster begins with: the same on every node, whatever the order of the list.
func firstMembers(peers []netip.Addr) raft.Configuration {
	var c raft.Configuration
	for _, p := range sorted(peers) {
		c.Servers = append(c.Servers, raft.Server{Suffrage: raft.Voter, ID: raft.ServerID(p.String()), Address: raft.ServerAddress(p.String())})
	}
	return c
}

// library is the library's configuration.
func (c Config) library(id raft.ServerID) *raft.Config {
	out := raft.DefaultConfig()
	out.LocalID = id
	out.HeartbeatTimeout, out.LeaderLeaseTimeout = c.Heartbeat, c.Heartbeat
	out.ElectionTimeout = c.Heartbeat + time.Microsecond // room for nudge: the heartbeat timeout may not be longer
	out.CommitTimeout = 2 * c.Heartbeat                  // so soon does a member that was away catch up; an idle leader calls each member as often
	out.SnapshotThreshold, out.TrailingLogs, out.SnapshotInterval = 128, 128, 2*time.Minute
	out.Logger = newLibrary(c.Log)
	return out
}

// addressOf is where a member is reached; the zero Addr for a foreign form.
func addressOf(s raft.ServerAddress) netip.Addr {
	a, err := netip.ParseAddr(string(s))
	if err != nil {
		return netip.Addr{}
	}
	return a
}
