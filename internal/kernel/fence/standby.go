package fence

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// A node that takes over binds the addresses at once, and a transaction can take longer than that: it would leave a moment in which
// nothing silences a process that is killed. So a group has a second guard, which is in place while the node does not have the addresses.
// It concerns nothing but what this machine says for an address of its own, or hears for one: whatever it forwards for the holder, or asks
// the holder as a client, goes on. So the second guard begins to count in the very moment in which an address is bound. Hold puts the
// first one in its place, which does not depend on what the kernel has as its own.

// standbyBeyond is how much longer the guard of a node on standby lasts than that of a holder: at least four seconds. Where many addresses
// live long it need not be renewed more often than they are.
func standbyBeyond(guard time.Duration) time.Duration { return max(4*time.Second, guard/4) }

func standbyFor(guard time.Duration) time.Duration { return guard + standbyBeyond(guard) }

func standbyOf(id uint32) string { return fmt.Sprintf("standby%d", id) }

// guardTime is how long the guard of a group lasts.
func (f *linkFence) guardTime(id uint32) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.want.groups[id].Guard
}

// canStandBy reports whether the kernel can do standBy: it has the egress hook, and tells there which addresses are its own.
func (f *linkFence) canStandBy() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.kernel.tables.link.canStandBy()
}

func (t *linkTable) canStandBy() bool { return t.egress && t.routes }

// errCannot: the caller has to ask canStandBy.
var errCannot = errors.New("this kernel cannot tell in an egress hook which addresses are its own")

// standBy is for groups whose addresses are not on the link: from the moment in which one is bound there, it answers only with a lease. It
// ends what hold began, and nothing is shut any more. Call it again within standbyBeyond of its guard.
func (f *linkFence) standBy(ids ...uint32) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.kernel.tables.link.canStandBy() {
		return f.wrap("stand by", errCannot)
	}
	return f.wrap("stand by", f.together(ids, func(c *nftables.Conn, id uint32) error {
		return f.kernel.tables.standBy(c, &f.want, id)
	}, f.want.standBy))
}

func (t *linkTable) putStandby(c *nftables.Conn, g Group) error {
	return t.putTime(c, standbyOf(g.ID), standbyFor(g.Guard))
}

func (t *linkTable) endStandby(c *nftables.Conn, id uint32) error {
	return t.putTime(c, standbyOf(id), 0)
}

// standbyRules are the rules of a group on standby. On the way out ARP and neighbour advertisements in the name of the address are never
// somebody else's; of packets, either way, only those from and to an address of this machine count. The lease is asked first: what a holder
// says and hears needs one look-up for each way then.
func standbyRules(id uint32) []match {
	silent := func(w way) match { return and(w.notIn(leaseOf(id)), w.in(standbyOf(id))) }
	return []match{
		and(etherType(unix.ETH_P_ARP), silent(outgoing), drop()),
		and(icmp6(neighborAdvertisement), silent(outgoing), drop()),
		and(silent(outgoing), sourceLocal(expr.CmpOpEq), drop()),
		and(silent(incoming), destLocal(), drop()),
	}
}
