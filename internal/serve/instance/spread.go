package instance

import (
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/members/subscription"
)

// Readiness is what this node could do for clients at this moment.
type Readiness struct {
	Fit    bool   // it would be a good holder
	Open   bool   // no operator holds or drains it, and it can serve
	Reason string // why it is not fit; empty when it is
}

// readiness is that of a fitness.
func readiness(f election.Fitness) Readiness {
	fit := f.Less < lastPlace && !f.Out
	out := Readiness{Fit: fit, Open: fit || f.Code != code.Held && f.Code != code.Drained}
	if !fit {
		out.Reason = f.Reason
	}
	return out
}

// The ways by which connections come to a member.
const (
	SpreadDirect = "direct" // each member answers clients by itself
	// SpreadMasquerade: each member answers by way of the holder.
	SpreadMasquerade = "masquerade"
	SpreadOff        = "off" // none that is new does: what was spread is about to end
)

// SpreadStatus says how connections to the address are spread over the members.
type SpreadStatus struct {
	Via     string         `json:"via"`
	Problem string         `json:"problem,omitempty"` // why nothing is spread, or not as it should be
	Members []SpreadMember `json:"members"`           // in the order of the tables
	Tables  []SpreadTable  `json:"tables"`            // one for the ports of each check
	LeftOut []SpreadMember `json:"leftOut,omitempty"` // members that get no connections, because there are too many
	// Newcomers are members that have appeared within a day while neither a key nor a list says who is one (KV252).
	Newcomers []SpreadNewcomer `json:"newcomers,omitempty"`
	// SecondChance tells whether a packet of a connection that this node does not know is sent on to the member that may know it. Of
	// masquerade it is false, and nothing is missing: connections end with a move.
	SecondChance bool   `json:"secondChance"`
	WithoutIt    string `json:"secondChanceOff,omitempty"` // why not
	TrackingFull string `json:"trackingFull,omitempty"`    // the kernel's table of connections is almost full: how full
	Ingress      bool   `json:"ingress"`                   // packets are sent on at the link, which costs least
	// Followers are those that this node tells who the members are. Each of them asks up to three members.
	Followers []subscription.Subscriber `json:"followers,omitempty"`
	// FollowerPlaces is how many there is room for, by the memory of this host; with FollowersFull all places are taken, and others are not told (KV385).
	FollowerPlaces int  `json:"followerPlaces,omitempty"`
	FollowersFull  bool `json:"followersFull,omitempty"`
}

// SpreadNewcomer is a member that was not there before, and may be one that somebody has invented.
type SpreadNewcomer struct {
	Address netip.Addr `json:"address"`
	Node    string     `json:"node,omitempty"` // as it says
	Since   time.Time  `json:"since"`          // when it was heard first
}

// SpreadMember is one member that connections are spread over.
type SpreadMember struct {
	Address     netip.Addr `json:"address"`
	Node        string     `json:"node,omitempty"`
	Self        bool       `json:"self"`
	Holder      bool       `json:"holder"` // of the address
	Weight      uint8      `json:"weight"`
	Connections uint32     `json:"connections"` // of clients, as it counted last
}

// SpreadTable is how the slots of some ports are divided.
type SpreadTable struct {
	Ports  []config.SpreadPort `json:"ports"`
	Check  string              `json:"check,omitempty"` // what decides whether they are healthy; absent: the node's fitness
	Ends   time.Time           `json:"ends,omitzero"`   // it is not spread any more: the holder gets all that is new, and its connections go on until then at most
	Fit    int                 `json:"fit"`             // how many members are
	Slots  int                 `json:"slots"`           // 0: there is no table yet
	Nobody int                 `json:"nobody"`          // slots that no member has: whoever receives a packet serves it
	Shares []SpreadShare       `json:"shares"`          // in the order of the members
}

// ending is how many ports are not spread any more while their connections go on.
func (s *SpreadStatus) ending() (n int) {
	for _, t := range s.Tables {
		if !t.Ends.IsZero() {
			n += len(t.Ports)
		}
	}
	return n
}

// Connections are those of all members, as each of them has counted last.
func (s *SpreadStatus) Connections() (n uint32) {
	for _, m := range s.Members {
		n += m.Connections
	}
	return n
}

// SpreadShare is what one member has of a table.
type SpreadShare struct {
	Address   netip.Addr `json:"address"`
	Condition string     `json:"condition"`      // fit: it gets new connections; keeps: it goes on with those that it has; dead: it gets no packets
	Why       string     `json:"why,omitempty"`  // it gets no new ones, or nobody else could
	Code      code.Code  `json:"code,omitempty"` // of Why, if the cause is one that has a code
	Slots     int        `json:"slots"`
	Share     float64    `json:"share"` // of the new connections, 0 to 1
}
