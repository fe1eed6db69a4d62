package virtualrouter

import (
	"net/netip"

	"github.com/keepvip/keepvip/election"
)

// cause is why the node that held the address until now gives it away, as it says itself: "n1: uid 0 asked for a handover". It is
// empty when that node said nothing, as one that has died.
func (m *machine) cause(from election.State, held netip.Addr) string {
	if from != election.Active {
		return m.x.causeOf(held)
	}
	return causeText(m.x.withStatus(election.Member{Address: m.source}), m.effective.Reason)
}

// causeOf is what another member says.
func (x *handoverProtocol) causeOf(held netip.Addr) string {
	if x == nil || !held.IsValid() {
		return ""
	}
	for i := range x.list {
		if o := &x.list[i]; o.Address == held.WithZone("") && !o.Peer.Fit {
			return causeText(election.Member{Address: o.Address, Node: o.Peer.Node}, o.Peer.Reason)
		}
	}
	return ""
}

func causeText(of election.Member, reason string) string {
	if reason == "" {
		return ""
	}
	if of.Node == "" {
		return of.Address.String() + ": " + reason
	}
	return of.Node + ": " + reason
}
