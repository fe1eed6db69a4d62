package raft

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
)

// A member that does not reach the address at the holder is named on every node. Nothing moves: a majority hears the holder.
func TestMemberThatDoesNotReachTheHolderIsNamedOnEveryNode(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		defer l.stopAll()
		l.settle()
		holder := l.answering()[0]
		var others []netip.Addr
		for i := range 3 {
			if h := l.hosts[addr(i)]; h != holder {
				h.elector.SetUnreached(election.Unreached{Holder: holder.self})
				others = append(others, h.self)
			}
		}
		time.Sleep(5 * time.Second)
		for i := range 3 {
			h := l.hosts[addr(i)]
			var named []netip.Addr
			for _, o := range h.elector.Status().Outside {
				named = append(named, o.Address)
				assert.Equal(t, o.Address == h.self, o.Self)
			}
			slices.SortFunc(named, netip.Addr.Compare)
			assert.Equal(t, others, named, "on %s", h.self)
		}
		assert.Equal(t, []*host{holder}, l.answering())
		for _, a := range others {
			l.hosts[a].elector.SetUnreached(election.Unreached{})
		}
		time.Sleep(5 * time.Second)
		assert.Empty(t, holder.elector.Status().Outside)
	})
}
