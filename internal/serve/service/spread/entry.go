package spread

import (
	"context"
	"hash/fnv"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// entry is what the configuration says of an entry. With spread.members a node that is none of these has the weight 0,
// if it is a candidate.
type entry struct {
	config.VIP
	addresses []netip.Addr
	ports     []config.SpreadPort // none: nothing is spread any more
}

func entryOf(v config.VIP) *entry {
	return &entry{VIP: v, addresses: v.Bare(), ports: v.SpreadPorts()}
}

// ended is an entry that is not spread any more, and as it was otherwise.
func (e *entry) ended() *entry {
	out := *e
	out.ports = nil
	return &out
}

// Tables are the names of the tables of an entry.
func Tables(v config.VIP) []string {
	var out []string
	for _, p := range entryOf(v).portSets() {
		out = append(out, p.name)
	}
	return out
}

// masquerades tells whether the holder translates, and the answers go back by it.
func (e *entry) masquerades() bool { return e.Spread.Via == config.ViaMasquerade }

// group is what followers call the entry.
func (e *entry) group() netip.Addr { return e.addresses[0] }

// seed is the same on all nodes.
func (e *entry) seed() uint32 {
	h := fnv.New32a()
	h.Write(e.group().AsSlice()) // a hash never returns an error
	return h.Sum32()
}

// settle is how long it takes until all members have heard of each other.
func (e *entry) settle() time.Duration { return max(4*e.VRRP.AdvertisementInterval, leastSettle) }

// translates tells whether this node translates connections to the other members: with masquerade the holder all of
// them, else each node those of its own programs.
func (e *entry) translates(me self) bool { return !e.masquerades() || me.holder }

// asking is how the host of a member is asked whether it is there. Where the network answers ARP for everybody, or
// members are not on the link, their services are: a host that lives takes the connection, or refuses it.
func (e *entry) asking(host Host) func(ctx context.Context, p instance.Place, member netip.Addr) error {
	i := slices.IndexFunc(e.ports, config.SpreadPort.TCP)
	if !e.masquerades() || i < 0 {
		return host.Ask
	}
	target := e.ports[i].Target
	return func(ctx context.Context, p instance.Place, member netip.Addr) error {
		return host.Reach(ctx, p, netip.AddrPortFrom(p.Scoped(member), target))
	}
}
