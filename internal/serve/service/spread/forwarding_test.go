package spread

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/kernel/spreadtables"
)

func TestForwardingLeavesOutMembersOfAFamilyThatIsNotForwarded(t *testing.T) {
	now := time.Now()
	six, own := netip.MustParseAddr("fd77::12"), netip.MustParseAddr("fd77::11")
	var f forwarding
	forwards := true
	look := func(ipv4 bool) (string, bool) {
		if ipv4 {
			return "net.ipv4.ip_forward", forwards
		}
		return "net.ipv6.conf.all.forwarding", false
	}
	asked := 0
	toward := func(member netip.Addr) netip.Addr {
		asked++
		if member.Is6() {
			return own
		}
		return addr(11)
	}
	sources := func() (out [][]netip.Addr) {
		members := []spreadtables.MemberAt{{Addresses: []netip.Addr{addr(11)}, Self: true}, {Addresses: []netip.Addr{addr(12), six}}}
		f.complete(now, members, toward)
		return [][]netip.Addr{members[0].Sources, members[1].Sources}
	}
	f.look(now, []netip.Addr{addr(100), six}, look)
	assert.Contains(t, f.problem, "(net.ipv6.conf.all.forwarding is 0)")
	assert.Equal(t, [][]netip.Addr{nil, {addr(11)}}, sources())
	assert.Equal(t, [][]netip.Addr{nil, {addr(11)}}, sources())
	assert.Equal(t, 1, asked, "a way to a member is asked for once in a while")

	forwards = false
	f.look(now, []netip.Addr{addr(100)}, look)
	assert.Equal(t, [][]netip.Addr{nil, {addr(11)}}, sources(), "nor is the setting read each time")
	now = now.Add(renewEvery)
	f.look(now, []netip.Addr{addr(100)}, look)
	assert.Contains(t, f.problem, "(net.ipv4.ip_forward is 0)", "and nothing of the family that has no address")
	assert.Equal(t, [][]netip.Addr{nil, {own}}, sources())
}
