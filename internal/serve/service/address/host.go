package address

import (
	"context"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/internal/kernel/fence"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// Binding is an address on an interface.
type Binding struct {
	Index  int
	Prefix netip.Prefix
}

// Host is this machine's network. Its methods are called from several goroutines.
type Host interface {
	// Bound lists where any of the addresses is on this host, with whatever prefix length, as last seen.
	Bound(addresses []netip.Prefix) []Binding
	// Bind adds addresses to an interface, or renews them: the kernel removes them by itself after valid, in
	// whole seconds. No error for those that are there already.
	Bind(index int, addresses []netip.Prefix, valid time.Duration) error
	// Usable returns when this machine takes packets for the addresses, which may be a while after Bind, and at the
	// latest after limit.
	Usable(addresses []netip.Addr, limit time.Duration)
	// Connections counts the connections to the addresses whose other ends are other machines.
	Connections(addresses []netip.Addr) (int, error)
	// Forward begins to send on to the node of that own address, for the time given, what clients say on connections to the
	// addresses that are not known here. Addresses of the other family than to's are left out, and so is what goes to a port that is spread.
	Forward(p instance.Place, addresses []netip.Addr, spread []fence.Port, to netip.Addr, first time.Duration) (Forwarding, error)
	// ForgetEnded makes the kernel forget the connections to the addresses that have ended here: a client may use the port of one for a
	// connection to another node, which is to be forwarded.
	ForgetEnded(addresses []netip.Addr) error
	// Unbind removes addresses; no error for those that are not there, or when the interface is gone.
	Unbind(index int, addresses []netip.Prefix) error
	// Announce sends one announcement for each address.
	Announce(p instance.Place, addresses []netip.Addr) error
	// Listen reports what other machines say at p about any of the addresses, until stop has returned. report
	// must not block.
	Listen(p instance.Place, addresses []netip.Addr, report func(Claim)) (stop func())
	// ListenChanges is Listen for members' own addresses, of which only a MAC that is new tells anything. A claim that report does not take is
	// new still.
	ListenChanges(p instance.Place, addresses []netip.Addr, report func(Claim) bool) (stop func())
	// Probe asks once, at p, who has the addresses, without claiming any. Answers reach Listen.
	Probe(p instance.Place, addresses []netip.Addr) error
	// Overhear returns what the host of that MAC, which claims the address, says by VRRP at p: nil if that is nothing for longer than
	// advertisements are apart, or until ctx ends.
	Overhear(ctx context.Context, p instance.Place, address netip.Addr, mac string) *instance.Router
}

// Forwarding is what Forward has begun. It ends by itself when it is not kept up. It belongs to one goroutine, and may take long.
type Forwarding interface {
	Keep(d time.Duration) error
	Close() error
}

// Claim says that another machine speaks as the owner of an address: in ARP, or in neighbour discovery.
type Claim struct {
	Address netip.Addr
	MAC     string
	VRID    uint8 // of the Virtual Router whose virtual MAC it is (RFC 9568 section 7.3); 0 for an ordinary one
	Answer  bool  // this goes to a single host, which has asked; an answer to a probe for IPv6 goes to all
}

// Fence makes the kernel silence the addresses when this node's lease is over, whatever has become of
// this process. Its methods may take long on a node whose rule sets others are changing; they belong to
// one goroutine.
type Fence interface {
	// Hold starts the guard, or goes on with it: within its time only a lease lets the addresses answer.
	Hold() error
	// ShutDiscovery stops ARP and neighbour discovery for the addresses and in their name, at once. Everything
	// else goes on.
	ShutDiscovery() error
	// Reopen takes back what was shut.
	Reopen() error
	// ShutIn stops the addresses from hearing anything, at once.
	ShutIn() error
	// ShutOut stops anything from leaving in their name, at once.
	ShutOut() error
	// Release takes the guard away, after the addresses are off.
	Release() error
	// Standby is for addresses that are not here: from the moment in which one is bound, it answers only with a lease. It ends what Hold
	// began, and what was shut. For the time that is returned an address may be bound; 0 if the kernel cannot do it, and nothing has changed.
	Standby() (time.Duration, error)
	// SpreadUntil lets packets of the spread ports pass until then, lease or not, and whatever is shut.
	SpreadUntil(until time.Time) error
	// Verify returns an error that says what the kernel lacks of the fence, with held also of the guard; nil when it is in place. An
	// outcome that is no older than within will do.
	Verify(within time.Duration, held bool) error
	// Mend puts in place what the newest Verify has missed, with what is left of the lease by Follow.
	Mend() error
	// Follow tells who knows until when the addresses may answer, which any goroutine may ask: another instance's Mend, too, puts in
	// place the fence of these addresses. gone is called by another goroutine when others have taken the fence away, and it is about to be made anew;
	// it must not wait.
	Follow(leaseEnd func() time.Time, gone func())
	// Told reports whether what others do to the fence is followed in time: Verify need not look for it often.
	Told() bool
	// Renewing reports whether the kernel renews the lease with every advertisement that leaves. Otherwise
	// Renew has to.
	Renewing() bool
	// Renew renews the lease until then, or for its length if that is sooner. An error when the kernel did
	// not do so in time: the lease has then run out.
	Renew(until time.Time) error
	// LeaseLeft is how much of the lease the kernel has left at this moment, whoever renewed it; 0 for none. Any goroutine may ask.
	LeaseLeft() (time.Duration, error)
	// Missed is when the kernel was last found without a lease that somebody has on this link; zero: never.
	Missed() time.Time
	// Sharing is how many instances have their fence together with this one, which is one of them: what one of them sees of it, all would.
	Sharing() int
	// Uncovered says what this kernel cannot keep from answering without a lease, empty for nothing.
	Uncovered() string
	// Close gives the fence back.
	Close() error
}
