package election

import "github.com/keepvip/keepvip/members"

// What members say to each other about spreading is the same by VRRP and by Raft.
type (
	Spread     = members.Spread
	SpreadPort = members.SpreadPort
	Client     = members.Client
	Left       = members.Left
)

const (
	// MostClients bounds the memory for the clients of a member.
	MostClients = 4096
	// MostLeft is how many members a message has room for in Left.
	MostLeft = members.MostLeft
	// MostSpreadPorts is how many ports of an address can be spread.
	MostSpreadPorts = members.MostSpreadPorts
)

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
