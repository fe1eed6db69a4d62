package config

import (
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// Raft is what only the Raft elector needs.
type Raft struct {
	Peers            []netip.Addr  // the members that a new cluster begins with
	Witnesses        []netip.Addr  // of Peers: vote, but never hold
	HeartbeatTimeout time.Duration // after how long without a leader another one is elected
	RemoveDeadAfter  time.Duration // 0: never
	Certificate      string        // file; "" with those of the shared key
	PrivateKey       string        // file
	CA               string        // file
}

// OwnCertificates tells that the members know each other by certificate files rather than by the shared key.
func (r Raft) OwnCertificates() bool { return r.Certificate != "" }

// maxPeers is more than any majority vote gains from.
const maxPeers = 9

func raftOptions() []Option {
	return []Option{
		option("raft.peers", "raft-peer", "", live, many(address(), func(t target) *[]netip.Addr { return &t.config.Raft.Peers }),
			"The nodes' own addresses that a new Raft cluster begins with, the same list on all of them; an address that a reload adds or drops is added to the running cluster, or removed"),
		option("raft.witnesses", "raft-witness", "", member, many(address(), func(t target) *[]netip.Addr { return &t.config.Raft.Witnesses }),
			"Those of raft.peers that vote, but never hold an address"),
		option("raft.heartbeatTimeout", "raft-heartbeat-timeout", "500ms", member, one(duration(100*time.Millisecond, 10*time.Second, time.Millisecond), func(t target) *time.Duration { return &t.config.Raft.HeartbeatTimeout }),
			"After how long without a leader the nodes elect another; the same on all nodes, as those with another one do not vote together. Below 330ms the fence cannot be renewed in time, and if keepvip dies only the lifetime of the address removes it"),
		option("raft.removeDeadAfter", "raft-remove-dead-after", "0s", member, one(duration(0, 30*24*time.Hour, time.Second), func(t target) *time.Duration { return &t.config.Raft.RemoveDeadAfter }),
			"After how long a silent voter is removed from the cluster, as long as a majority of those that are left lives; 0s never"),
		option("raft.certificate", "raft-certificate", "", member, one(path(maxPath), func(t target) *string { return &t.config.Raft.Certificate }),
			"File with this node's certificate for Raft, in PEM; without it one is derived from the shared key at every start"),
		option("raft.privateKey", "raft-private-key", "", member, one(path(maxPath), func(t target) *string { return &t.config.Raft.PrivateKey }),
			"File with the private key of that certificate, in PEM"),
		option("raft.ca", "raft-ca", "", member, one(path(maxPath), func(t target) *string { return &t.config.Raft.CA }),
			"File with the CA certificates, in PEM: whoever has a certificate of one of these is a member"),
	}
}

// raft complains about what an election by Raft lacks.
func (k vipValidator) raft() {
	r := k.Raft
	switch {
	case len(r.Peers) == 0:
		k.fail("election", "raft without raft.peers, want the nodes' own addresses there")
	case k.Key.File == "" && !r.OwnCertificates():
		k.fail("election", "raft without a shared key: set key.file (keepvip key generate makes one), or raft.certificate, raft.privateKey and raft.ca")
	}
	if k.Port == 0 {
		k.fail("election", "raft with port 0, want the TCP port of its members there")
	}
	if k.v.Group != "" {
		k.fail("group", "%s with election raft, want none: all addresses elected by Raft move together", k.v.Group)
	}
	if k.v.VRRP.Owner {
		k.fail("vrrp.owner", "set with election raft, which has no address owner")
	}
}

// checkRaft complains about the section itself.
func (k *validator) checkRaft() {
	r := k.Raft
	if n := len(r.Peers); n > maxPeers {
		k.bad("raft.peers", "%d of them, want at most %d", n, maxPeers)
	}
	for _, p := range r.Peers {
		if k.isVirtual(p) {
			k.bad("raft.peers", "%s is a virtual address, want a node's own", p)
		}
	}
	holders := len(r.Peers)
	for _, w := range r.Witnesses {
		if !slices.Contains(r.Peers, w) {
			k.bad("raft.witnesses", "%s is not among raft.peers, want it there, too", w)
			continue
		}
		holders--
	}
	if len(r.Peers) > 0 && holders == 0 {
		k.bad("raft.witnesses", "all of raft.peers, want at least one that can hold the addresses")
	}
	set := 0
	for _, f := range []string{r.Certificate, r.PrivateKey, r.CA} {
		if f != "" {
			set++
		}
	}
	if set != 0 && set != 3 {
		k.bad("raft.certificate", "%s set, want all three of raft.certificate, raft.privateKey and raft.ca, or none", fmt.Sprintf("%d of 3 files", set))
	}
}

// mostSpreadByRaft is of how many entries a member of the cluster says how it spreads them.
const mostSpreadByRaft = 32

// checkSpreadByRaft refuses those of which the members would not know of each other.
func (k *validator) checkSpreadByRaft() {
	n := 0
	for i := range k.VIPs {
		v := &k.VIPs[i]
		if v.Election != ElectionRaft || v.Spread.Via == ViaOff {
			continue
		}
		if n++; n > mostSpreadByRaft {
			k.vip(i).fail("spread.via", "%d entries are spread with election raft, want %d at most: spread off, or election vrrp", n, mostSpreadByRaft)
			return
		}
	}
}

// ByRaft are the virtual addresses that Raft elects for, without those that are external.
func (c *Config) ByRaft() []VIP {
	var out []VIP
	for i := range c.VIPs { // is asked once a second: no copy of hundreds of entries
		if c.VIPs[i].Election == ElectionRaft && !c.VIPs[i].External() {
			out = append(out, c.VIPs[i])
		}
	}
	return out
}
