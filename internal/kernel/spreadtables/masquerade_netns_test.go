//go:build netns

package spreadtables

import (
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/netnstest"
	"github.com/keepvip/keepvip/internal/kernel/conntrack"
	"github.com/keepvip/keepvip/members/slots"
)

// masquerading is a lab whose first member has the address and forwards.
func masquerading(t *testing.T) *lab {
	t.Helper()
	l := newLab(t)
	l.bound(0)
	l.members[0].In(func() {
		l.members[0].Sysctl("net/ipv4/conf/eth0/forwarding", "1")
		l.members[0].Sysctl("net/ipv6/conf/all/forwarding", "1")
	})
	for _, n := range l.members {
		n.cfg.Masquerade = true
		for i := range n.cfg.Members {
			n.cfg.Members[i].Sources = n.cfg.Self
		}
	}
	l.owned(0, slots.None)
	return l
}

// TestMasqueradedConnectionGoesToTheOwnerOfItsSlot asks from a client, from the holder, and from the other members.
func TestMasqueradedConnectionGoesToTheOwnerOfItsSlot(t *testing.T) {
	l := masquerading(t)
	holder := l.members[0]
	for name, vip := range both {
		for _, n := range l.members[1:] {
			require.NoError(t, n.NeighSet(neighbour(n.Space, vip, holder.Space)))
		}
		spaces := []*netnstest.Space{l.client, holder.Space, l.members[1].Space, l.members[2].Space}
		for owner, n := range l.members {
			l.owned(uint8(owner), slots.None)
			for i, s := range spaces {
				c := l.dial(s, vip)
				assert.Equal(t, owner, c.member, "%s from %d", name, i)
				if owner != 0 {
					assert.Contains(t, holder.cfg.Self, netip.MustParseAddr(c.from), "%s from %d: the holder's own address", name, i)
				} else if i == 0 {
					assert.NotContains(t, holder.cfg.Self, netip.MustParseAddr(c.from), "%s: of what the holder serves itself the source stays", name)
				}
				require.NoError(t, c.asksMuch())
				c.ends(n, name)
			}
		}
		l.spread(nil)
		assert.Equal(t, 0, l.dial(l.client, vip).member, "%s: the holder serves by itself", name)
		l.owned(slots.None, slots.None)
		assert.Equal(t, 0, l.dial(l.client, vip).member, "%s: nobody owns the slot", name)
	}
	c, err := l.try(l.client, netip.AddrPortFrom(both["IPv4"], target))
	require.NoError(t, err)
	assert.Equal(t, 0, c.member, "what is not listed is the holder's")
}

func TestMasqueradedConnectionsAreSpread(t *testing.T) {
	l := masquerading(t)
	l.spread(slots.Make([]slots.Member{
		{Address: netip.MustParseAddr("10.1.0.5"), Condition: slots.Fit, Weight: 1},
		{Address: netip.MustParseAddr("10.1.0.6"), Condition: slots.Fit, Weight: 1},
		{Address: netip.MustParseAddr("10.1.0.7"), Condition: slots.Fit, Weight: 1},
	}, nil))
	for name, vip := range both {
		served := make([]int, 3)
		for range 90 {
			served[l.dial(l.client, vip).member]++
		}
		t.Logf("%s: %v", name, served)
		assert.Greater(t, slices.Min(served), 10, name)
	}
	l.members[0].In(func() {
		served, err := l.members[0].tables.Count(100)
		require.NoError(t, err)
		sum := 0
		for _, n := range served.To {
			sum += n
		}
		assert.Equal(t, 180, sum)
		assert.Len(t, served.To, 6)
		assert.Equal(t, 180, served.Ports[Port{unix.IPPROTO_TCP, front, target}])
		assert.Len(t, served.Clients, 100)
	})
}

// TestOwnConnectionsToTheHolderAreNoneThatIsMasqueraded: a drained node would wait for its own kubelet, which stays connected to the address.
func TestOwnConnectionsToTheHolderAreNoneThatIsMasqueraded(t *testing.T) {
	l := masquerading(t)
	l.owned(2, slots.None)
	n := l.members[1]
	for name, vip := range both {
		require.NoError(t, n.NeighSet(neighbour(n.Space, vip, l.members[0].Space)))
		c := l.dial(n.Space, vip)
		n.In(func() {
			tracking, err := conntrack.Open()
			require.NoError(t, err)
			defer tracking.Close()
			known := 0
			for _, f := range []uint8{unix.NFPROTO_IPV4, unix.NFPROTO_IPV6} {
				require.NoError(t, tracking.Each(f, unix.IPPROTO_TCP, front, func(e conntrack.Entry) {
					if e.Dest.Addr() == vip && e.Open() {
						known++
					}
				}))
			}
			require.Equal(t, 1, known, "%s: its kernel tracks it", name)
			served, err := n.tables.Count(100)
			require.NoError(t, err)
			assert.Zero(t, served.Ports[Port{unix.IPPROTO_TCP, front, target}], name)
			assert.Empty(t, served.To, name)
			assert.Empty(t, served.Clients, name)
			ended, _, err := n.tables.End()
			require.NoError(t, err)
			assert.Zero(t, ended, name)
		})
		c.goesOn(name)
	}
}

// TestMasqueradedConnectionOutlivesAChangeOfOwner: connection tracking knows it. The same of the end of the elements: only what is new is not
// translated any more.
func TestMasqueradedConnectionOutlivesAChangeOfOwner(t *testing.T) {
	l := masquerading(t)
	for name, vip := range both {
		l.owned(1, slots.None)
		kept := l.dial(l.client, vip)
		require.Equal(t, 1, kept.member)
		l.owned(2, slots.None)
		kept.goesOn(name)
		assert.Equal(t, 2, l.dial(l.client, vip).member)
		l.members[0].In(func() { require.NoError(t, l.members[0].tables.Renew(time.Second)) })
		l.members[0].Eventually(func() bool { _, err := l.try(l.client, netip.AddrPortFrom(vip, front)); return refused(err) }, "the elements end")
		kept.goesOn(name)
		kept.ends(l.members[1], name)
		l.members[0].In(func() { require.NoError(t, l.members[0].tables.Renew(time.Minute)) })
	}
}

// TestMasqueradedConnectionThatIsEndedIsReset: clients learn at once, those that say nothing, too. Others go on.
func TestMasqueradedConnectionThatIsEndedIsReset(t *testing.T) {
	l := masquerading(t)
	for name, vip := range both {
		l.owned(1, slots.None)
		silent, other := l.dial(l.client, vip), (*conn)(nil)
		l.owned(2, slots.None)
		other = l.dial(l.client, vip)
		l.members[0].In(func() {
			n, _, err := l.members[0].tables.End(l.members[1].cfg.Self...)
			require.NoError(t, err)
			assert.Equal(t, 1, n)
		})
		_, err := silent.Read(make([]byte, 1))
		assert.True(t, refused(err), "%s: %v", name, err)
		other.goesOn(name)
		l.members[0].In(func() {
			n, _, err := l.members[0].tables.End()
			require.NoError(t, err)
			assert.Equal(t, 1, n)
		})
		_, err = other.Read(make([]byte, 1))
		assert.True(t, refused(err), "%s: %v", name, err)
	}
}

// TestMasqueradedConnectionOfAClientThatIsGoneIsEnded: that there is no way to one client is no reason to say that connections are not ended.
func TestMasqueradedConnectionOfAClientThatIsGoneIsEnded(t *testing.T) {
	l := masquerading(t)
	holder := l.members[0]
	for name, client := range map[string]netip.Addr{"IPv4": netip.MustParseAddr("10.1.0.9"), "IPv6": netip.MustParseAddr("fd01::9")} {
		l.owned(1, slots.None)
		l.dial(l.client, both[name])
		holder.In(func() {
			holder.IP("route add unreachable " + client.String())
			n, _, err := holder.tables.End(l.members[1].cfg.Self...)
			require.NoError(t, err, name)
			assert.Equal(t, 1, n, name)
			n, _, err = holder.tables.End(l.members[1].cfg.Self...)
			require.NoError(t, err, name)
			assert.Zero(t, n, name)
			assert.ErrorIs(t, Poke([]Client{{At: netip.AddrPortFrom(client, 40000), To: netip.AddrPortFrom(both[name], front)}}), unix.EHOSTUNREACH)
		})
	}
}

// TestMasqueradedConnectionThatBeginsWithADeadMember goes on with another one, by its next SYN.
func TestMasqueradedConnectionThatBeginsWithADeadMember(t *testing.T) {
	l := masquerading(t)
	for name, vip := range both {
		require.NoError(t, l.members[1].LinkSetDown(l.members[1].Link("eth0")))
		l.owned(1, slots.None)
		type outcome struct {
			member int
			err    error
		}
		done := make(chan outcome)
		go func() {
			runtime.LockOSThread() // and is thrown away with its namespace
			var c net.Conn
			var err error
			l.client.In(func() {
				c, err = (&net.Dialer{Timeout: netnstest.Patience}).Dial("tcp", netip.AddrPortFrom(vip, front).String())
			})
			o := outcome{err: err}
			if err == nil {
				_, o.err = fmt.Fscanf(c, "%d", &o.member)
				_ = c.Close()
			}
			done <- o
		}()
		l.members[0].In(func() {
			l.members[0].Eventually(func() bool {
				n, err := l.members[0].tables.begun()
				require.NoError(t, err)
				return n > 0
			}, "its SYN has come")
			l.owned(2, slots.None)
			_, _, err := l.members[0].tables.End(l.members[1].cfg.Self...)
			require.NoError(t, err)
		})
		o := <-done
		require.NoError(t, o.err, name)
		assert.Equal(t, 2, o.member, name)
		require.NoError(t, l.members[1].LinkSetUp(l.members[1].Link("eth0")))
		l.members[1].Has("eth0", "fd01::6/64") // IPv6 forgets it
	}
}

// begun is how many connections have not been answered yet.
func (t *Tables) begun() (n int, err error) {
	tracking, err := conntrack.Open()
	if err != nil {
		return 0, err
	}
	defer tracking.Close()
	err = t.applied.Load().each(tracking, func(_ Port, e conntrack.Entry) {
		if e.State == conntrack.SynSent {
			n++
		}
	})
	return n, err
}

// TestMasqueradedPortIsTranslatedAnewAfterAReset: a server that has died resets what it had, and refuses what comes. Its clients may use the same
// ports again at once, and get another member.
func TestMasqueradedPortIsTranslatedAnewAfterAReset(t *testing.T) {
	l := masquerading(t)
	holder := l.members[0]
	for name, vip := range both {
		to := netip.AddrPortFrom(vip, front)
		again := func(from net.Addr, what string) {
			t.Helper()
			l.owned(2, slots.None)
			holder.In(func() { require.NoError(t, holder.tables.Forget(l.members[1].cfg.Self...)) })
			c, err := l.tryFrom(l.client, from, to)
			require.NoError(t, err, "%s: %s", name, what)
			assert.Equal(t, 2, c.member, "%s: %s", name, what)
			require.NoError(t, c.SetLinger(0)) // the other family uses the port, too
			require.NoError(t, c.Close())
		}
		l.owned(1, slots.None)
		other := l.dial(l.client, vip)
		from := &net.TCPAddr{Port: 40123}
		c, err := l.tryFrom(l.client, from, to)
		require.NoError(t, err, name)
		require.Equal(t, 1, c.member, name)
		_, err = c.Write([]byte("R"))
		require.NoError(t, err, name)
		_, err = c.Read(make([]byte, 1))
		require.True(t, refused(err), "%s: %v", name, err)
		require.NoError(t, c.Close())
		again(from, "reset")
		other.goesOn(name)

		from = &net.TCPAddr{Port: 40124}
		holder.cfg.Members[1].Target = 1 // nobody listens
		l.owned(1, slots.None)
		_, err = l.tryFrom(l.client, from, to)
		require.True(t, refused(err), "%s: %v", name, err)
		again(from, "refused")
		holder.cfg.Members[1].Target = 0
	}
}

// TestMasqueradeTakesAnotherTarget, as a backend may have a port of its own.
func TestMasqueradeTakesAnotherTarget(t *testing.T) {
	l := masquerading(t)
	l.owned(1, slots.None)
	for i := range l.members[0].cfg.Ports {
		l.members[0].cfg.Ports[i].Target = 1
	}
	l.members[0].cfg.Members[1].Target = target
	l.apply()
	for name, vip := range both {
		assert.Equal(t, 1, l.dial(l.client, vip).member, name)
	}
	l.members[0].In(func() { require.NoError(t, l.members[0].tables.Close()) })
}

// TestMasqueradedConnectionIsEndedOnceTheLoadIsSpreadDirectly: it goes on by way of this node, which alone knows its client. The other members are told
// who that is, for the death of this one.
func TestMasqueradedConnectionIsEndedOnceTheLoadIsSpreadDirectly(t *testing.T) {
	l := masquerading(t)
	l.owned(2, slots.None)
	silent, at := map[string]*conn{}, []Client{}
	for name, vip := range both {
		silent[name] = l.dial(l.client, vip)
		at = append(at, Client{At: silent[name].LocalAddr().(*net.TCPAddr).AddrPort(), To: netip.AddrPortFrom(vip, front)})
	}
	for _, n := range l.members {
		n.cfg.Masquerade = false
	}
	l.owned(1, slots.None)
	holder := l.members[0]
	holder.In(func() {
		served, err := holder.tables.Count(100)
		require.NoError(t, err)
		assert.ElementsMatch(t, at, served.Clients)
		assert.Zero(t, served.Ports[Port{unix.IPPROTO_TCP, front, target}], "it is no connection of this node's service")
	})
	l.members[2].In(func() { l.members[2].IP("link set eth0 down") })
	table := ownedBy(1, 0)
	table.Next = []uint8{1, 0, 0} // the third is dead
	l.spread(table)
	holder.In(func() {
		n, clients, err := holder.tables.EndOwn(holder.cfg.Members[2].Addresses...)
		require.NoError(t, err)
		assert.Equal(t, len(both), n)
		assert.ElementsMatch(t, at, clients)
		require.NoError(t, Poke(clients))
	})
	for name, c := range silent {
		_, err := c.Read(make([]byte, 1))
		assert.True(t, refused(err), "%s: %v", name, err)
	}
}
