package spread

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/spreadtables"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/members/subscription"
)

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

// Host is this machine, and the process. Its methods are called from several goroutines.
type Host interface {
	// Backends are servers without keepvip that connections to v go to in place of members; none: members.
	Backends(v config.VIP) []*Backend
	// Followers are told of the members; nil: there can be none.
	Followers() Followers
	// Keyed tells whether members prove by a key that they are members.
	Keyed() bool
	// Stays tells, at the end of the service, that another run is to go on with the entry of that name.
	Stays(name string) bool
	// Stands is told whether the kernel goes on with the tables, also where that is as before. It does not wait.
	Stands(bool)
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
