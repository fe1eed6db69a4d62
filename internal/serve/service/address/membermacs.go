package address

import (
	"net/netip"
	"slices"
	"time"
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
	left   time.Time // when the member was heard last; zero while it is heard
}

// memberMACs are the MACs by which members are known, in the order in which they were learned. Those of a member that has left stay while there
// is room: its kernel may still answer for the virtual address, for a while. It is pure.
type memberMACs []knownMAC

// learn notes that a MAC is a member's. Of one member the first MAC stays beside the newest, so that forged claims take the place of each
// other.
func (s *memberMACs) learn(mac string, member netip.Addr, isMember func(netip.Addr) bool) {
	if slices.ContainsFunc(*s, func(k knownMAC) bool { return k.mac == mac && k.member == member }) {
		return
	}
	*s = append(*s, knownMAC{mac: mac, member: member})
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

// member is whose MAC it is, as learned last; not valid for nobody's, nor for that of a member of which nothing was heard since then.
func (s memberMACs) member(mac string, since time.Time) netip.Addr {
	for _, k := range slices.Backward(s) {
		if k.mac == mac && (k.left.IsZero() || k.left.After(since)) {
			return k.member
		}
	}
	return netip.Addr{}
}

// follow notes who is a member now, and returns the MACs of those that are one again.
func (s memberMACs) follow(now time.Time, isMember func(netip.Addr) bool) (back []string) {
	for i := range s {
		k := &s[i]
		switch is := isMember(k.member); {
		case is && !k.left.IsZero():
			k.left = time.Time{}
			back = append(back, k.mac)
		case !is && k.left.IsZero():
			k.left = now
		}
	}
	return back
}

// heard corrects when a member that has left was heard last.
func (s memberMACs) heard(member netip.Addr, at time.Time) {
	for i := range s {
		if k := &s[i]; k.member == member && at.Before(k.left) {
			k.left = at
		}
	}
}

// former tells whether the MAC of a member that has left is known.
func (s memberMACs) former() bool {
	return slices.ContainsFunc(s, func(k knownMAC) bool { return !k.left.IsZero() })
}
