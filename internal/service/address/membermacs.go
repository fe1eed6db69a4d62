package address

import (
	"net/netip"
	"slices"
)

const (
	// macsPerMember is for a member that was replaced, or whose link has several MACs.
	macsPerMember = 4
	// mostMACs bounds what a flood of claims in the members' names can make this node remember. It has room for each member that can
	// be heard, so that one that is new is always learned.
	mostMACs = macsPerMember * 128
)

// knownMAC is a MAC that has answered for a member's own address.
type knownMAC struct {
	mac    string
	member netip.Addr
}

// memberMACs are the MACs by which members are known, in the order in which they were learned. Those of a member that has left stay while there
// is room: its kernel may still answer for the virtual address. It is pure.
type memberMACs []knownMAC

// learn notes that a MAC is a member's. Of one member the first MAC stays beside the newest, so that forged claims take the place of each
// other.
func (s *memberMACs) learn(mac string, member netip.Addr, isMember func(netip.Addr) bool) {
	learned := knownMAC{mac, member}
	if slices.Contains(*s, learned) {
		return
	}
	*s = append(*s, learned)
	var same []int
	for i, k := range *s {
		if k.member == member {
			same = append(same, i)
		}
	}
	switch {
	case len(same) > macsPerMember:
		*s = slices.Delete(*s, same[1], same[1]+1)
	case len(*s) > mostMACs:
		i := max(0, slices.IndexFunc(*s, func(k knownMAC) bool { return !isMember(k.member) }))
		*s = slices.Delete(*s, i, i+1)
	}
}

// member is whose MAC it is, as learned last; not valid for nobody's.
func (s memberMACs) member(mac string) netip.Addr {
	for _, k := range slices.Backward(s) {
		if k.mac == mac {
			return k.member
		}
	}
	return netip.Addr{}
}
