package virtualrouter

import (
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/vrrp"
)

// Wire carries the advertisements of one Virtual Router. A Hub makes wires of a real network; tests
// make them of memory.
type Wire interface {
	// Send puts one advertisement on the wire. A nil error means that the kernel took it, for one of the peers at least.
	Send(adv vrrp.Advertisement) error
	// Unsent is how many advertisements the kernel refused for some of the peers while it took them for others, and for which
	// peers it refused the newest of these, and why. Without peers there are none.
	Unsent() (uint64, map[netip.Addr]error)
	// Arrived has a value when Take may have something.
	Arrived() <-chan struct{}
	// Drain moves what the network has queued for this wire to where Take finds it: what it had by then, at least. It never blocks.
	Drain(by time.Time)
	// Take appends what has arrived to dst, in the order of arrival, the newest of each sender only.
	Take(dst []Arrival) []Arrival
	// SetAddresses changes the addresses by which an advertisement of this Virtual Router is known.
	SetAddresses(list []netip.Addr)
	// Rejections records what arrived here and was not for this Virtual Router or not valid.
	Rejections() *election.Rejections
	// Close gives the wire back.
	Close() error
}

// Arrival is one valid advertisement.
type Arrival struct {
	Source        netip.Addr
	Advertisement vrrp.Advertisement
	At            time.Time // when the kernel had it
}
