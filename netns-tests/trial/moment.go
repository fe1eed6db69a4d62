package trial

import (
	"net/netip"

	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/vrrp"
)

// Moment is a step of the exchange by which the address is passed on: when the switch sees what stands for it.
type Moment int

// The moments, in order.
const (
	Unfit      Moment = iota // the holder's HELLO says that it wants to give the address away
	Asked                    // the taker's REQUEST
	Granted                  // the holder's GRANT
	Advertised               // the taker's first advertisement
	Announced                // the taker's first announcement
	Taken                    // the taker's HELLO says that it is Active
)

// Moments are all of them.
func Moments() []Moment { return []Moment{Unfit, Asked, Granted, Advertised, Announced, Taken} }

// String names it in a sentence that begins with what happens then.
func (m Moment) String() string {
	return [...]string{"at the unfit HELLO", "at the REQUEST", "at the GRANT", "at the first advertisement", "at the announcement", "at the active HELLO"}[m]
}

// is tells whether a frame is that moment, in the exchange between two nodes.
func (m Moment) is(s lab.Sighting, holder, taker *lab.Node, vip netip.Addr) bool {
	switch m {
	case Advertised:
		return s.Node == taker.ID && s.Advertises()
	case Announced:
		return s.Node == taker.ID && s.Announces(vip)
	}
	content := s.Datagram(membersPort)
	if content == nil {
		return false
	}
	said, err := unsealed(content)
	if err != nil {
		return false
	}
	switch m {
	case Unfit:
		return s.Node == holder.ID && said.Type == members.Hello && said.Peer.State == vrrp.Active && !said.Peer.Fit
	case Asked:
		return s.Node == taker.ID && said.Type == members.Request
	case Granted:
		return s.Node == holder.ID && said.Type == members.Grant
	}
	return s.Node == taker.ID && said.Type == members.Hello && said.Peer.State == vrrp.Active
}
