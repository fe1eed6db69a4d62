package election

import "net/netip"

// Node is a node as the others name it. The zero Node is nobody.
type Node struct {
	Address netip.Addr `json:"address,omitzero"`
	Name    string     `json:"node,omitempty"` // empty for one that has not said it, as one that speaks VRRP alone
}

// String is "n1 (10.77.0.11)", or the address where no name is known; empty for nobody.
func (n Node) String() string {
	switch {
	case !n.Address.IsValid():
		return n.Name
	case n.Name == "":
		return n.Address.String()
	}
	return n.Name + " (" + n.Address.String() + ")"
}

// Called is the name, or the address where no name is known.
func (n Node) Called() string {
	if n.Name != "" {
		return n.Name
	}
	return n.Address.String()
}
