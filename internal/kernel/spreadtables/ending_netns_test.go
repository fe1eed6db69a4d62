//go:build netns

package spreadtables

import (
	"net"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/members/slots"
)

// byItself is what a member says who serves a connection by a socket on the address, and not on its own one.
const byItself = 10

// listens has a member serve the port of the address by itself, as without spreading.
func (l *lab) listens(member int) {
	l.t.Helper()
	n := &node{Space: l.members[member].Space, index: byItself + member}
	n.In(func() {
		s, err := net.Listen("tcp", net.JoinHostPort("", strconv.Itoa(front)))
		require.NoError(l.t, err)
		l.t.Cleanup(func() { _ = s.Close() })
		go func() {
			for {
				c, err := s.Accept()
				if err != nil {
					return
				}
				go n.talk(c)
			}
		}()
	})
}

// TestConnectionFromBeforeItWasSpread is one of a socket on the address, which connection tracking has never seen.
func TestConnectionFromBeforeItWasSpread(t *testing.T) {
	l := newLab(t)
	l.bound(0)
	l.listens(0)
	for name, vip := range both {
		for _, n := range l.members {
			n.In(func() { require.NoError(t, n.tables.Close()) })
		}
		own, others := l.dial(l.client, vip), l.dial(l.client, vip)
		require.Equal(t, []int{byItself, byItself}, []int{own.member, others.member})
		l.owned(0, slots.None)
		own.goesOn(name + ", a slot of the holder's own")
		require.NoError(t, own.asksMuch())
		l.owned(1, 0)
		others.goesOn(name + ", the slot is another member's")
		own.goesOn(name + ", the slot moves")
		assert.Equal(t, 1, l.dial(l.client, vip).member)
		require.NoError(t, others.asksMuch())
		for _, c := range []*conn{own, others} {
			require.NoError(t, c.CloseWrite())
			_, err := c.Read(make([]byte, 1))
			assert.ErrorContains(t, err, "EOF", name)
		}
	}
}

// TestWhatEnds: connections go on where they are, whoever receives them, and new ones are the holder's, untranslated.
func TestWhatEnds(t *testing.T) {
	l := newLab(t)
	l.bound(0)
	l.listens(0)
	for _, vip := range both {
		require.NoError(t, l.members[2].NeighSet(neighbour(l.members[2].Space, vip, l.members[0].Space)))
	}
	for name, vip := range both {
		l.receives(0)
		l.owned(1, slots.None)
		away := l.dial(l.client, vip)
		l.owned(0, slots.None)
		here := l.dial(l.client, vip)
		require.Equal(t, []int{1, 0}, []int{away.member, here.member})
		for _, n := range l.members {
			n.cfg.Ending = true
		}
		l.owned(0, 1)
		fresh := l.dial(l.client, vip)
		require.Equal(t, byItself, fresh.member, name)
		for receiver := range l.members {
			l.receives(receiver)
			for what, c := range map[string]*conn{"of another member": away, "of the holder": here, "new": fresh} {
				c.goesOn(name + ", " + what)
				require.NoError(t, c.asksMuch(), "%s, %s", name, what)
			}
		}
		assert.Equal(t, byItself, l.dial(l.members[2].Space, vip).member, "%s, of a member", name)
		assert.Equal(t, byItself, l.dial(l.members[0].Space, vip).member, "%s, of the holder", name)
		for _, n := range l.members {
			n.cfg.Ending = false
		}
	}
}

// TestWhatEndsInAnotherTable: a port goes over from one table to another one, in which it ends, and the translation of its connections with it.
func TestWhatEndsInAnotherTable(t *testing.T) {
	l := newLab(t)
	l.bound(0)
	l.listens(0)
	l.owned(1, slots.None)
	var conns []*conn
	for _, vip := range both {
		conns = append(conns, l.dial(l.client, vip))
	}
	for _, n := range l.members {
		ends, err := Open("api.-ends", nil)
		require.NoError(t, err)
		cfg := n.cfg
		cfg.Ending = true
		cfg.Slots = &slots.Table{Owner: make([]uint8, 12), Second: slices.Repeat([]uint8{1}, 12)}
		n.In(func() {
			require.NoError(t, ends.Apply(cfg))
			require.NoError(t, n.tables.Close())
		})
	}
	for _, c := range conns {
		require.Equal(t, 1, c.member)
		c.goesOn("in the other table")
	}
	for _, vip := range both {
		assert.Equal(t, byItself, l.dial(l.client, vip).member)
	}
}

// TestMasqueradedConnectionWhoseSpreadingEnds: connection tracking knows it, and new ones are this node's own.
func TestMasqueradedConnectionWhoseSpreadingEnds(t *testing.T) {
	l := masquerading(t)
	l.listens(0)
	for name, vip := range both {
		l.members[0].cfg.Ending = false
		l.owned(1, slots.None)
		away := l.dial(l.client, vip)
		require.Equal(t, 1, away.member)
		l.members[0].cfg.Ending = true
		l.apply()
		away.goesOn(name)
		assert.Equal(t, byItself, l.dial(l.client, vip).member, name)
	}
}
