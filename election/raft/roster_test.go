package raft

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A member makes room first, as it needs no invitation. A node that waits to be let in would be locked out.
func TestRosterMakesRoomByAMember(t *testing.T) {
	r := roster{invited: map[netip.Addr]bool{}}
	for i := range maxRoster {
		assert.Zero(t, r.spare(addr(100), []netip.Addr{addr(0)}), "there is room")
		r.invited[addr(i)] = true
	}
	assert.Equal(t, addr(9), r.spare(addr(100), []netip.Addr{addr(90), addr(12), addr(9)}))
	assert.Equal(t, addr(0), r.spare(addr(100), []netip.Addr{addr(90)}), "no member is invited")
	assert.Zero(t, r.spare(addr(3), []netip.Addr{addr(0)}), "it is invited already")
}
