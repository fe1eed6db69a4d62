package spread

import (
	"context"
	"errors"
	"hash/fnv"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/internal/kernel/spreadtables"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/members/subscription"
)

// Config describes what of an instance is spread.
type Config struct {
	Name      string // of the entry; it names the tables
	Addresses []netip.Addr
	Ports     []Port       // at least one for New; none for Reconfigure: nothing is spread any more
	Weight    uint8        // this node's; 0: no new connections
	Members   []netip.Addr // own addresses, in order; none: those that are heard, sorted
	// Senders are own addresses of nodes that may receive packets for the addresses. With Members, one that is none of these has the weight 0.
	Senders  []netip.Addr
	Interval time.Duration
	// Backends are servers without keepvip that connections go to in place of members, with Masquerade; none: members.
	Backends []*Backend
	// Masquerade has the holder translate, and the answers go back by it.
	Masquerade bool
	// Each tells that there is no holder: routers send packets for the addresses to each member that is active, and no host has them.
	Each bool
	// Stands is told whether the kernel goes on with the tables, also where that is as before; nil: nobody is. It does not wait.
	Stands func(bool)
	// Reloaded tells that the address was served until now, by its holder alone: connections to it are there.
	Reloaded bool
	// Followers are told of the members; nil: there can be none.
	Followers Followers
	// Keyed tells whether members prove by a key that they are members; nil: they do not.
	Keyed func() bool
	// Stays tells, at the end of the service, that another run is to go on with it.
	Stays func() bool
}

// Port is one that is spread.
type Port struct {
	Protocol     uint8 // 6 (TCP) or 17 (UDP)
	Port, Target uint16
	Check        string // the check that says whether it is healthy; "": the node's fitness
}

// Followers are hosts that are no members and want to know who the members are. [subscription.Server] is what tells them.
type Followers interface {
	// Serve lets followers ask, until Drop.
	Serve(group netip.Addr)
	Drop(group netip.Addr)
	// Wanted tells whether there are any. It is cheap.
	Wanted(group netip.Addr) bool
	// Subscribers are they.
	Subscribers(group netip.Addr) []subscription.Subscriber
	// Room is how many places for them are taken, and how many there are.
	Room(group netip.Addr) (taken, most int)
	// Tell has them know, and is called once in an interval while there are any; nil: nothing is known.
	Tell(group netip.Addr, r *subscription.Report)
}

var (
	// ErrSilent is for a host that was asked, and has not answered.
	ErrSilent = errors.New("no answer")
	// ErrRefused is for a host that has refused a connection.
	ErrRefused = errors.New("refused")
)

// Host is this machine. Its methods are called from several goroutines.
type Host interface {
	// Open takes charge of the tables of that name.
	Open(name string) (Plane, error)
	// Own are the own addresses at p, of each family of the virtual addresses one at most, that the services there listen on.
	Own(p instance.Place, addresses []netip.Addr) []netip.Addr
	// Ask asks the host of a member, at p, whether it is there: nil when its kernel has answered before ctx ended. The error wraps ErrSilent when
	// the host was asked and has not answered; any other says why nobody could be asked, and nothing of the member.
	Ask(ctx context.Context, p instance.Place, member netip.Addr) error
	// Reach connects to a service, while the link at p works: nil when its host has answered before ctx ended, if only to refuse. Its errors are as
	// those of Ask.
	Reach(ctx context.Context, p instance.Place, at netip.AddrPort) error
	// Connect connects to a service from this node's own address at p, and ends the connection by a reset: nil when it was taken before ctx ended. The
	// error wraps ErrRefused or ErrSilent; any other says nothing of the service.
	Connect(ctx context.Context, p instance.Place, at netip.AddrPort) error
	// Toward is the own address at p that connections to a member come from; the zero Addr: there is no way to it.
	Toward(p instance.Place, member netip.Addr) netip.Addr
	// Poke has clients say where their connections are. A client whose connection no member knows any more is told so by a reset.
	Poke([]spreadtables.Client) error
	// Forwards tells whether the kernel forwards what comes in at p, of IPv4 or of IPv6, and the name of the setting that says so.
	Forwards(p instance.Place, ipv4 bool) (setting string, does bool)
	// Tracked is how many connections the kernel tracks, and how many at most; 0 where it does not say.
	Tracked() (tracked, most int)
}

// Plane is what the kernel does for one table. [spreadtables.Tables] is one.
type Plane interface {
	// Apply makes it so in one step; connections in translation go on. The same again changes nothing.
	Apply(spreadtables.Config) error
	// Renew keeps what is there for that long from now.
	Renew(lifetime time.Duration) error
	// Mend makes anew what somebody has deleted or changed, and tells whether it did. It is cheap as long as nobody changes anything.
	Mend() (mended bool, err error)
	// Abilities are those of the kernel, once Apply has succeeded.
	Abilities() spreadtables.Abilities
	// Count counts the connections that are served or masqueraded here, and says of so many which clients these are. It may take long, and goes on
	// beside all others.
	Count(clients int) (spreadtables.Census, error)
	// End ends those to some members, without members all of them, and tells the clients. It returns how many there were, and these clients.
	End(members ...netip.Addr) (int, []spreadtables.Client, error)
	// EndOwn ends those that programs of this host have to these members, which are dead, and those that this node has masqueraded to them before the
	// load was spread directly. It returns how many there were, and the clients of the latter. It may take long, and goes on beside all others.
	EndOwn(members ...netip.Addr) (int, []spreadtables.Client, error)
	// Forget has the kernel forget masqueraded connections that these members have reset: it would give the next one from the same port to them, too.
	Forget(members ...netip.Addr) error
	// Leave lets go of it: it goes on until its lifetime is over, or the next run has it.
	Leave()
	// Close takes it away.
	Close() error
}

const (
	// lifetime is for how long the kernel goes on alone: longer than a pod takes to be replaced.
	lifetime = 5 * time.Minute
	// renewEvery is well within it.
	renewEvery = time.Minute
	// lookEvery is how often is looked whether somebody has changed the tables.
	lookEvery = 500 * time.Millisecond
	// retryAfter is how long is waited after the kernel has refused something.
	retryAfter = time.Second
	// endTries is how often ending connections of this host is tried.
	endTries = 3
	// countEvery is how often connections are counted: the kernel goes through all that it tracks.
	countEvery = 5 * time.Second
	// countDraining is the same while an operator waits for their end.
	countDraining = 500 * time.Millisecond
	// countShare is how many times as long as a count takes is waited before the next one, and countOftenShare the same while somebody wants to know soon. No
	// more than twice countEvery is waited: what members say of their connections is no older than leastEnding.
	countShare, countOftenShare = 50, 10
	// showEvery is how often the status follows what changes all the time, such as connections.
	showEvery = time.Second
	// mostLines is how many lines of one kind that others can bring about are written in a minute.
	mostLines = 10
	// leastSettle is the least time after the start of a term in which members are only listened for.
	leastSettle = 400 * time.Millisecond
)

// Tables are the names of the tables.
func (c *Config) Tables() []string {
	var out []string
	for _, p := range portSetsOf(c) {
		out = append(out, p.name)
	}
	return out
}

// seed is the same on all nodes.
func (c *Config) seed() uint32 {
	h := fnv.New32a()
	h.Write(c.Addresses[0].AsSlice()) // a hash never returns an error
	return h.Sum32()
}

// settle is how long it takes until all members have heard of each other.
func (c *Config) settle() time.Duration { return max(4*c.Interval, leastSettle) }

// translates tells whether this node translates connections to the other members: with masquerade the holder all of them, else each node those of
// its own programs.
func (c *Config) translates(me self) bool { return !c.Masquerade || me.holder }

// asking is how the host of a member is asked whether it is there. Where the network answers ARP for everybody, or members are not on the link,
// their services are: a host that lives takes the connection, or refuses it.
func (c *Config) asking(host Host) func(ctx context.Context, p instance.Place, member netip.Addr) error {
	i := slices.IndexFunc(c.Ports, func(p Port) bool { return p.Protocol != udp })
	if !c.Masquerade || i < 0 {
		return host.Ask
	}
	target := c.Ports[i].Target
	return func(ctx context.Context, p instance.Place, member netip.Addr) error {
		if member.Is6() && member.IsLinkLocalUnicast() {
			member = member.WithZone(p.Name)
		}
		return host.Reach(ctx, p, netip.AddrPortFrom(member, target))
	}
}
