package election

import "net/netip"

// AskedToHandOver is the reason of a holder that an operator tells to pass the address on, as every node logs it. Only uid 0 may ask.
func AskedToHandOver(to string) string {
	if to == "" {
		return "uid 0 asked for a handover"
	}
	return "uid 0 asked for a handover to " + to
}

// cause is why the node that held the address until now gives it away, as it says itself: "n1: uid 0 asked for a handover". It is
// empty when that node said nothing, as one that has died.
func (m *machine) cause(from State, held netip.Addr) string {
	if from != Active {
		return m.x.causeOf(held)
	}
	return causeText(m.x.withStatus(Member{Address: m.source}), m.effective.Reason)
}

// causeOf is what another member says.
func (x *handoverProtocol) causeOf(held netip.Addr) string {
	if x == nil || !held.IsValid() {
		return ""
	}
	for i := range x.list {
		if o := &x.list[i]; o.Address == held.WithZone("") && !o.Peer.Fit {
			return causeText(Member{Address: o.Address, Node: o.Peer.Node}, o.Peer.Reason)
		}
	}
	return ""
}

func causeText(of Member, reason string) string {
	if reason == "" {
		return ""
	}
	if of.Node == "" {
		return of.Address.String() + ": " + reason
	}
	return of.Node + ": " + reason
}
