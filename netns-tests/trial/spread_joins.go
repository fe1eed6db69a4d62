package trial

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// slotOwners are the members that a node's kernel sends the packets of each slot to.
func (s *Spreading) slotOwners(n *lab.Node) (_ []netip.Addr, err error) {
	defer try.Catch(&err)
	text := try.Get(n.Run("nft", "-j", "list", "map", "ip", "keepvip-spread-apiserver", "owners"))
	var listed struct {
		Nftables []struct {
			Map struct {
				Size int                  `json:"size"`
				Elem [][2]json.RawMessage `json:"elem"`
			} `json:"map"`
		} `json:"nftables"`
	}
	if err := json.Unmarshal([]byte(text), &listed); err != nil {
		return nil, fmt.Errorf("trial: the slots of %s: %w", n.Label, err)
	}
	var owners []netip.Addr
	for _, l := range listed.Nftables {
		if l.Map.Size == 0 {
			continue
		}
		owners = slices.Repeat([]netip.Addr{n.Address}, l.Map.Size) // those that it serves itself are not listed
		for _, e := range l.Map.Elem {
			var slot int
			var owner netip.Addr
			if err := errors.Join(json.Unmarshal(e[0], &slot), json.Unmarshal(e[1], &owner)); err != nil {
				return nil, fmt.Errorf("trial: a slot of %s: %w", n.Label, err)
			}
			if slot >= len(owners) {
				return nil, fmt.Errorf("trial: %s has slot %d of %d", n.Label, slot, len(owners))
			}
			owners[slot] = owner
		}
	}
	if len(owners) == 0 {
		return nil, fmt.Errorf("trial: %s has no slots: %s", n.Label, text)
	}
	return owners, nil
}

// movedSlots compares two tables: the part of all slots that have another owner, in per cent, and how many of them one that is not the new member.
// A table of more members may have more slots, each a part of one before.
func movedSlots(before, after []netip.Addr, joined netip.Addr) (share float64, others int) {
	moved := 0
	for slot, owner := range after {
		if owner == before[slot*len(before)/len(after)] {
			continue
		}
		if moved++; owner != joined {
			others++
		}
	}
	return 100 * float64(moved) / float64(len(after)), others
}

// fourthJoins has a fourth member join three that have connections.
func fourthJoins(s *Spreading, _ int) Findings {
	first, fourth := s.Lab.Nodes[0], s.Lab.Nodes[3]
	before := try.Get(s.slotOwners(first))
	e := SpreadEvent{Name: "a fourth member joins", Do: func(x *SpreadMove) (*lab.Node, error) {
		x.mark("the fourth begins")
		return nil, sequence(x.started(fourth), x.settledAgain, x.watched)
	}}
	k := try.Get(s.Keep(e, spreadConnected))
	var after []netip.Addr
	differ := 0
	for _, n := range s.Lab.Nodes {
		owners := try.Get(s.slotOwners(n))
		if after == nil {
			after = owners
		}
		differ += count(!slices.Equal(owners, after))
	}
	share, others := movedSlots(before, after, fourth.Address)
	out := Findings{
		{What: "slots that moved", Got: share, Limit: 25, Unit: "%"}, none("to another than the fourth", others), none("nodes with another table", differ),
	}
	return slices.Concat(out, k.Findings(e), s.shares(s.Lab.Nodes...))
}
