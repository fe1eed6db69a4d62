package spreadtables

import (
	"net/netip"
	"slices"

	"github.com/keepvip/keepvip/internal/kernel/nfttables"
	"github.com/keepvip/keepvip/members/slots"
)

// roster says which member has which slot, and where it is in one family.
type roster struct {
	family  family
	own     netip.Addr // of this node; not valid: it serves nothing in the family
	members []MemberAt
	slots   *slots.Table // nil: there are none
}

func (c Config) roster(f family) roster {
	own, _ := f.of(c.Self)
	return roster{f, own, c.Members, c.Slots}
}

// among leaves out the members without an address of the family.
func (r roster) among() roster {
	if r.slots != nil {
		r.slots = r.slots.Among(func(m uint8) bool {
			if int(m) >= len(r.members) {
				return false
			}
			_, ok := r.family.of(r.members[m].Addresses)
			return ok
		})
	}
	return r
}

// size is how many slots there are.
func (r roster) size() uint32 {
	if r.slots == nil {
		return 0
	}
	return uint32(len(r.slots.Owner))
}

// self is this node's index; None: it is no member.
func (r roster) self() uint8 {
	i := slices.IndexFunc(r.members, func(m MemberAt) bool { return m.Self })
	if i < 0 {
		return slots.None
	}
	return uint8(i)
}

// known tells whether frames of the member are known by their source.
func (m MemberAt) known() bool { return len(m.MAC) == int(nfttables.TypeEther.Length) }

// takes tells whether this node gets new connections: it has a slot, or nobody has one.
func (r roster) takes() bool {
	return r.size() == 0 || slices.Contains(r.slots.Owner, r.self()) || !slices.ContainsFunc(r.slots.Owner, func(o uint8) bool { return o != slots.None })
}

// other is the address of another member; none of a member that is this node, or has no address of the family.
func (r roster) other(member uint8) (netip.Addr, bool) {
	if member == slots.None || int(member) >= len(r.members) || r.members[member].Self {
		return netip.Addr{}, false
	}
	return r.family.of(r.members[member].Addresses)
}
