package route

import (
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/internal/kernel/hostroute"
	"github.com/keepvip/keepvip/internal/kernel/intercept"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// Config describes the addresses of one entry.
type Config struct {
	Name      string
	Addresses []netip.Addr
	Ports     []Port // none: nothing is translated, because somebody else serves the addresses on this node
	// Spread: that is done by tables that are there before the route and stay until Close has returned, also for what routers still send then.
	Spread bool
	Table  hostroute.Table
}

// Port is one at which clients connect to the addresses, and the one at which this node's own program listens.
type Port struct {
	Protocol     uint8 // 6 (TCP) or 17 (UDP)
	Port, Target uint16
}

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
	Device
}

// Routes is a [hostroute.Handle].
type Routes interface {
	Put(t hostroute.Table, index int, addresses []netip.Addr, mark bool) error
	Remove(t hostroute.Table, addresses []netip.Addr) error
	Missing(t hostroute.Table, index int, addresses []netip.Addr) ([]netip.Addr, error)
	Close()
}

// Device is a [hostroute.Device].
type Device interface {
	Use() (index int, err error)
	Mend() (index int, err error)
	Release()
}

// Translation is an [intercept.Table].
type Translation interface {
	Apply(c intercept.Config) error
	Renew(lifetime time.Duration) error
	Clients() ([]intercept.Client, error)
	Close() error
}
