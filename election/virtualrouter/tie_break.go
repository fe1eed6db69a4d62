package virtualrouter

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/election"
)

// tieBreakShare is the part of the interval that ties are broken in. An eighth keeps the delay below
// the Skew_Time of any priority up to 224, so that failover stays within what RFC 9568 promises.
const tieBreakShare = 8

// amongOthers divides the tie-break delay where other priorities were heard: there may still be equals among the
// Backups, as in the 101, 100, 100 of kubeadm's guide. What is left is below the 256th of an interval that one
// step of priority makes, so that no order is turned round.
const amongOthers = 40

// tieBreakDelay is the time that a Backup adds to its Active_Down_Interval so that equals do not all become
// Active at the same moment. It is between 0 and interval/8.
//
// With the other members known, the rank of self among all decides. Without them, the low bits of self
// do, multiplied by the golden ratio: neighbouring addresses, which the nodes of a cluster usually
// have, come out far apart (any three consecutive ones at least 0.23 of the range).
func tieBreakDelay(self netip.Addr, others []netip.Addr, interval time.Duration) time.Duration {
	room := interval / tieBreakShare
	if n := len(others); n > 0 {
		rank := 0
		for _, a := range others {
			if a.Less(self) {
				rank++
			}
		}
		return room * time.Duration(rank) / time.Duration(n)
	}
	hi, _ := bits.Mul64(lowBits(self)*0x9e3779b97f4a7c15, uint64(room))
	return time.Duration(hi)
}

// others are the nodes in the lists that are not self, each once.
func others(self netip.Addr, lists ...[]netip.Addr) []netip.Addr {
	var out []netip.Addr
	for _, p := range slices.Concat(lists...) {
		if p != self && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

func lowBits(a netip.Addr) uint64 {
	b := a.As16()
	return binary.BigEndian.Uint64(b[8:])
}

// perhapsEquals tells whether the whole tie-break delay is wanted: it is for equals, and must not turn the order of
// nodes round that the operator gave different priorities. A node is taken for an equal until another
// priority is heard from somebody; the lowest priority says only that the node is unfit.
func perhapsEquals(base uint8, heard []election.Member) bool {
	different := func(m election.Member) bool { return m.Priority > unfitPriority && m.Priority != base }
	same := func(m election.Member) bool { return m.Priority == base }
	return slices.ContainsFunc(heard, same) || !slices.ContainsFunc(heard, different)
}
