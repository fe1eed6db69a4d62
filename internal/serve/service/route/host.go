package route

import (
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/internal/kernel/hostroute"
	"github.com/keepvip/keepvip/internal/kernel/intercept"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// Host is this host as the service sees it.
type Host interface {
	// Own are the node's own addresses at p that suit the addresses best, one of each family.
	Own(p instance.Place, addresses []netip.Addr) []netip.Addr
	// OwnAddresses are all addresses of this host.
	OwnAddresses() []netip.Addr
	// OpenTranslation takes charge of the tables that translate what arrives for the entry of that name.
	OpenTranslation(name string) (Translation, error)
	// OpenRoutes opens a connection to the kernel's routing tables.
	OpenRoutes() (Routes, error)
	// Use, Mend and Release are those of a [hostroute.Device].
	Use() (index int, err error)
	Mend() (index int, err error)
	Release()
}

// Routes is a [hostroute.Handle].
type Routes interface {
	Put(t hostroute.Table, index int, addresses []netip.Addr, mark bool) error
	Remove(t hostroute.Table, addresses []netip.Addr) error
	Missing(t hostroute.Table, index int, addresses []netip.Addr) ([]netip.Addr, error)
	Close()
}

// Translation is an [intercept.Table].
type Translation interface {
	Apply(c intercept.Config) error
	Renew(lifetime time.Duration) error
	Clients() ([]intercept.Client, error)
	Close() error
}
