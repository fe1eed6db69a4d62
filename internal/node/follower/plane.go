package follower

import (
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/internal/kernel/intercept"
	"github.com/keepvip/keepvip/internal/kernel/localconn"
	"github.com/keepvip/keepvip/internal/serve/localproxy"
)

// Host is this machine.
type Host interface {
	// Client opens the way to the members, which listen at that port.
	Client(port uint16, signed bool) (client, error)
	// Open takes charge of what intercepts connections for the entry of that name, and changes nothing yet.
	Open(name string) (plane, error)
	// Listen listens for programs of this host, and passes connections on; those for which there is no backend to one of fallback.
	Listen(at string, fallback []netip.AddrPort) (localproxy.Listener, error)
	// Cleanup takes away what earlier runs have left of other entries than these, and returns its names.
	Cleanup(keep ...string) ([]string, error)
}

// plane is what the kernel does for one entry. [intercept.Table] is one.
type plane interface {
	// Apply makes it so in one step; connections that go on are not touched. The same again changes nothing.
	Apply(intercept.Config) error
	// Renew has it last for that long from now.
	Renew(lifetime time.Duration) error
	// Destroy ends connections of this host to backends that are dead, and returns how many those were.
	Destroy(dead ...netip.Addr) (localconn.Ended, error)
	// Forget has the kernel forget connections that these have reset: it would give the next one from the same port to them, too.
	Forget(gone ...netip.AddrPort) error
	// Connections counts those of this host, by the backend's address.
	Connections() (map[netip.Addr]int, error)
	// Leave lets go of it: the next run has it, or it ends by itself.
	Leave()
	// Close takes it away.
	Close() error
}
