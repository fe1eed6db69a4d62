package election

import (
	"net/netip"
	"slices"
	"time"
)

// Spread is what a member says of its part in spreading the load of the address over the members.
type Spread struct {
	// Fit tells that it takes new connections. The elector sets it, whatever SetSpread says: as fit as this node's checks, operators and service have
	// it, also for the moment in which it passes the address on, and not any more when it stops. [Member.Fit] is about holding the address.
	Fit bool `json:"fit"`
	// Every is the time between two messages of a member, which the elector sets: one of which nothing is heard for three and a half times as
	// long is Silent. It is an advertisement interval, but not less than a tenth of a second, and more where many addresses are spread.
	Every time.Duration `json:"every"`
	// Weight is its share of new connections beside the others'; 0: it gets none, and keeps those that it has.
	Weight uint8 `json:"weight"`
	// MAC is that of the interface by which it takes part; zero: it does not say.
	MAC [6]byte `json:"mac"`
	// Address is its own address on the link of the virtual addresses, of the family that carries the election, where that is not
	// [Member.Address]: by Raft members may talk elsewhere. The zero Addr: it is. By VRRP nothing is said of it.
	Address netip.Addr `json:"address,omitzero"`
	// Other is its own address of the family that does not carry the election, for the virtual addresses of that family, without a
	// zone; the zero Addr: it has none.
	Other netip.Addr `json:"other,omitzero"`
	// Serves is its own address of the family that carries the election, for the virtual addresses of that family, where that is not the address by
	// which members are known: by IPv6 these are link-local, so a host on another link reaches none, and a server need not listen there. The zero Addr: it is.
	Serves netip.Addr `json:"serves,omitzero"`
	// Ports are those of the address that it serves, at most MostSpreadPorts.
	Ports []SpreadPort `json:"ports,omitempty"`
	// Translates tells that this node translates connections to the other members and knows how many each has: those of its own programs, or, where
	// the holder masquerades, all. It says so of those in Left.
	Translates bool `json:"translates,omitempty"`
	// Left are members that get no new connections any more, each once it was counted since, at most MostLeft. They cannot count these themselves.
	Left []Left `json:"left,omitempty"`
	// Clients are those of the connections of TCP that a node serves, for whoever holds the address when that node has died. SetSpread takes at most
	// MostClients. Members say them by turns, so of another node they are those that were due when it was heard last.
	Clients []Client `json:"clients,omitempty"`
}

// MostClients bounds the memory for the clients of a member.
const MostClients = 4096

// Client is at one end of a connection to the address.
type Client struct {
	At   netip.AddrPort `json:"at"`
	Port uint16         `json:"port"` // of the address
}

// MostLeft is how many members a message has room for in Left.
const MostLeft = 4

// Left is how many connections a member still has of those that another one translates.
type Left struct {
	Member      netip.Addr `json:"member"` // its address by the election
	Connections uint32     `json:"connections"`
}

// MostSpreadPorts is how many ports of an address can be spread.
const MostSpreadPorts = 16

// SpreadPort is one port of the address, as one member serves it.
type SpreadPort struct {
	Protocol    uint8  `json:"protocol"`    // of IP: 6 is TCP, 17 is UDP
	Port        uint16 `json:"port"`        // of the address: what clients connect to
	Healthy     bool   `json:"healthy"`     // the service behind it takes connections, as this member's check of the port says
	Connections uint32 `json:"connections"` // how many this member has, as it counted last
}

// Alike tells whether two say the same but for the Connections, Left and Clients, which change all the time. nil is like nil alone.
func (s *Spread) Alike(o *Spread) bool {
	if s == nil || o == nil {
		return s == o
	}
	return s.Fit == o.Fit && s.Every == o.Every && s.Weight == o.Weight && s.MAC == o.MAC && s.Address == o.Address && s.Other == o.Other &&
		s.Serves == o.Serves && s.Translates == o.Translates &&
		slices.EqualFunc(s.Ports, o.Ports, func(a, b SpreadPort) bool {
			a.Connections, b.Connections = 0, 0
			return a == b
		})
}

// Spreader is an Elector by which members tell each other how they spread. All methods are safe from any goroutine, also from one that
// carries out a Decision, and none of them blocks or calls back.
type Spreader interface {
	// SetSpread says how this node takes part; nil: not at all, and nothing more is said of it than that. It is a level: the newest
	// counts, and it may be set before Run. The elector keeps s, which is not changed any more. Members hear at once of whatever
	// differs but the Connections and Left, which they hear of within an advertisement interval, and the Clients.
	// They hear as soon of a node that is not fit any more, without a SetSpread.
	SetSpread(s *Spread)

	// Members is Status().Members alone, cheap enough to be asked for each advertisement interval.
	Members() []Member

	// MembersChanged receives when what is to be known of members that spread may have changed: who they are, whether they are silent,
	// fit, or drain, and their Spread but for the Connections, Left and Clients. It is the same channel every time, and has room for one. Nothing is
	// sent to it as long as this node does not spread.
	MembersChanged() <-chan struct{}
}
