package members

import (
	"errors"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/auth"
	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/members/envelope"
)

// wireSocket is a Socket whose other end is the test.
type wireSocket struct {
	in     chan received1
	out    chan []byte
	to     []netip.Addr // of the last Send
	closed chan struct{}
	ttl    *int // of what comes in; nil: 255
}

type received1 struct {
	b      []byte
	source netip.Addr
	err    error
	waited time.Duration // in the kernel
}

func newWireSocket() *wireSocket {
	return &wireSocket{in: make(chan received1), out: make(chan []byte, 100), closed: make(chan struct{})}
}

func (s *wireSocket) Send(b []byte, to ...netip.Addr) error {
	s.to = to
	s.out <- append([]byte(nil), b...)
	return nil
}

func (s *wireSocket) Close() error { close(s.closed); return nil }

func (s *wireSocket) Receive(b []byte) (Arrival, error) {
	select {
	case r := <-s.in:
		a := Arrival{Length: copy(b, r.b), Source: r.source, At: time.Now().Add(-r.waited)}
		if s.ttl != nil {
			a.TTL = *s.ttl
		}
		return a, r.err
	case <-s.closed:
		return Arrival{}, net.ErrClosed
	}
}

func TestHubDeliversToItsGroup(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		key := testKey(t, 1)
		s := newWireSocket()
		h := NewHub(s, ConnConfig{Source: nodeB}, newAuth(t, time.Now(), key), nil)
		w := h.Join(group, nil, 0)

		sign := func(m Message) []byte {
			b, err := m.AppendSigned(nil, uint64(time.Now().UnixNano()), &key, nodeA)
			require.NoError(t, err)
			return b
		}
		good := sign(full())
		s.in <- received1{b: good, source: nodeA}
		<-w.Arrived()
		synctest.Wait()
		assert.Equal(t, []Received{{Source: nodeA, Message: full(), At: time.Now(), Signed: true}}, w.Take(nil))
		assert.Empty(t, w.Take(nil))

		s.in <- received1{b: good, source: nodeA}
		s.in <- received1{b: []byte("?"), source: nodeA}
		s.in <- received1{err: &envelope.PacketError{Reason: RejectTTL}}
		s.in <- received1{err: errors.New("the interface is down")}
		other := full()
		other.Peer.Group = nodeC
		s.in <- received1{b: sign(other), source: nodeA}
		synctest.Wait()
		assert.Equal(t, map[Reason]uint64{
			RejectReplay: 1, envelope.RejectLength: 1, RejectTTL: 1, envelope.RejectSocket: 1, envelope.RejectGroup: 1,
		}, w.Rejected())

		require.NoError(t, w.Send(full()))
		m, _, err := newAuth(t, time.Now(), key).verify(<-s.out, nodeB, time.Now())
		require.NoError(t, err)
		assert.Equal(t, full(), m)
		w.Close()
		assert.Empty(t, h.wires)
		require.NoError(t, h.Close())
	})
}

// A message that is taken while a key is being introduced says what enforce would not have liked.
func TestHubPassesDoubtsOn(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s, a := newWireSocket(), newAuth(t, time.Now())
		require.NoError(t, a.Set(auth.Config{Keys: []auth.Key{testKey(t, 1)}, Mode: auth.Permissive, Window: window}))
		h := NewHub(s, ConnConfig{Source: nodeB}, a, nil)
		w := h.Join(group, nil, 0)
		b, err := full().Append(nil, 1)
		require.NoError(t, err)
		s.in <- received1{b: b, source: nodeA}
		synctest.Wait()
		assert.Equal(t, []Received{{Source: nodeA, Message: full(), At: time.Now(), Doubt: RejectUnsigned}}, w.Take(nil))
		assert.Empty(t, w.Rejected(), "it is not refused")
		require.NoError(t, h.Close())
	})
}

// Refused messages of one group, or of none that is here, keep no other group from being told of its own.
func TestHubTellsEachGroupThatAMessageWasRefused(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newWireSocket()
		h := NewHub(s, ConnConfig{Source: nodeB}, newAuth(t, time.Now(), testKey(t, 1)), nil)
		other := netip.MustParseAddr("10.77.0.200")
		first, second := h.Join(group, nil, 0), h.Join(other, nil, 0)
		say := func(group netip.Addr) {
			m := full()
			m.Peer.Group = group
			b, err := m.Append(nil, 1)
			require.NoError(t, err)
			s.in <- received1{b: b, source: nodeA}
			synctest.Wait()
		}
		refused := []Received{{Source: nodeA, Refused: RejectUnsigned, At: time.Now()}}
		say(nodeC)
		assert.Empty(t, append(first.Take(nil), second.Take(nil)...), "of no group that is here")
		say(group)
		assert.Equal(t, refused, first.Take(nil))
		assert.Empty(t, second.Take(nil))
		say(other)
		assert.Equal(t, refused, second.Take(nil))
		for range 10 {
			say(group)
			say(other)
		}
		assert.Empty(t, append(first.Take(nil), second.Take(nil)...), "soon again")
		time.Sleep(noticeEvery)
		say(group)
		assert.Len(t, first.Take(nil), 1)
		require.NoError(t, h.Close())
	})
}

// Who is told of a message that cannot be read would answer with a HELLO: one group at a time, each in its turn.
func TestHubTellsFewGroupsOfAMessageWithoutOne(t *testing.T) {
	for name, tt := range map[string]struct {
		groups, most int
	}{
		"one group":        {1, 21},
		"all that fit":     {255, 21},
		"a few, in a turn": {4, 21},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				s := newWireSocket()
				h := NewHub(s, ConnConfig{Source: nodeB}, newAuth(t, time.Now()), nil)
				var wires []*Wire
				for i := range tt.groups {
					wires = append(wires, h.Join(netip.AddrFrom4([4]byte{10, 77, 1, byte(i)}), nil, 0))
				}
				b, err := full().Append(nil, 1)
				require.NoError(t, err)
				b[4] = envelope.Version + 1
				for range 100 {
					s.in <- received1{b: b, source: nodeA}
					time.Sleep(10 * time.Millisecond)
				}
				told, groups := 0, 0
				for _, w := range wires {
					list := w.Take(nil)
					told += len(list)
					groups += min(len(list), 1)
					for _, r := range list {
						assert.Equal(t, RejectVersion, r.Refused)
					}
				}
				assert.LessOrEqual(t, told, tt.most)
				assert.Equal(t, min(told, tt.groups), groups, "each in its turn")
				assert.GreaterOrEqual(t, told, 19)
				require.NoError(t, h.Close())
			})
		})
	}
}

// What has waited in the kernel while this process stood still is as old as it is.
func TestHubDatesMessagesByTheKernel(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newWireSocket()
		h := NewHub(s, ConnConfig{Source: nodeB}, newAuth(t, time.Now()), nil)
		w := h.Join(group, nil, 0)
		b, err := full().Append(nil, 1)
		require.NoError(t, err)
		s.in <- received1{b: b, source: nodeA, waited: 700 * time.Millisecond}
		synctest.Wait()
		assert.Equal(t, []Received{{Source: nodeA, Message: full(), At: time.Now().Add(-700 * time.Millisecond)}}, w.Take(nil))
		require.NoError(t, h.Close())
	})
}

// Groups with different peers share a socket: each hears its own, and its messages go to them.
func TestHubWiresWithDifferentPeers(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newWireSocket()
		h := NewHub(s, ConnConfig{Source: nodeB}, newAuth(t, time.Now()), nil)
		other := full()
		other.Peer.Group = netip.MustParseAddr("10.77.0.200")
		first := h.Join(group, []netip.Addr{nodeA, nodeB}, 0)
		second := h.Join(other.Peer.Group, []netip.Addr{nodeC, nodeB}, 0)
		for _, from := range []netip.Addr{nodeA, nodeC, netip.MustParseAddr("10.77.0.99")} {
			for _, m := range []Message{full(), other} {
				b, err := m.Append(nil, 1)
				require.NoError(t, err)
				s.in <- received1{b: b, source: from}
			}
		}
		synctest.Wait()
		refused := func(from netip.Addr) Received {
			return Received{Source: from, Refused: RejectPeer, At: time.Now(), TTL: 255}
		}
		assert.Equal(t, []Received{{Source: nodeA, Message: full(), At: time.Now()}, refused(nodeC)}, first.Take(nil))
		assert.Equal(t, []Received{refused(nodeA), {Source: nodeC, Message: other, At: time.Now()}}, second.Take(nil))
		assert.Equal(t, map[Reason]uint64{RejectPeer: 2, envelope.RejectGroup: 2}, first.Rejected())

		require.NoError(t, first.Send(full()))
		<-s.out
		assert.Equal(t, []netip.Addr{nodeA}, s.to)
		require.NoError(t, second.Send(other))
		<-s.out
		assert.Equal(t, []netip.Addr{nodeC}, s.to)
		first.Close()
		second.Close()
		alone := h.Join(group, []netip.Addr{nodeB}, 0)
		require.NoError(t, alone.Send(full()))
		assert.Empty(t, s.out, "nobody is there to be told")
		require.NoError(t, h.Close())
	})
}

// Two entries whose addresses are exchanged by a reload are renamed one after the other.
func TestWiresExchangeTheirGroups(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newWireSocket()
		h := NewHub(s, ConnConfig{Source: nodeB}, newAuth(t, time.Now()), nil)
		other := netip.MustParseAddr("10.77.0.200")
		first, second := h.Join(group, nil, 0), h.Join(other, nil, 0)
		say := func() {
			b, err := full().Append(nil, 1)
			require.NoError(t, err)
			s.in <- received1{b: b, source: nodeA}
			synctest.Wait()
		}
		second.Rename(group)
		say()
		assert.Len(t, first.Take(nil), 1)
		assert.Len(t, second.Take(nil), 1)
		first.Rename(other)
		say()
		assert.Empty(t, first.Take(nil))
		assert.Len(t, second.Take(nil), 1)
		first.Close()
		second.Close()
		require.NoError(t, h.Close())
	})
}

func TestWireIsBounded(t *testing.T) {
	w := &Wire{hub: &Hub{rejected: map[Reason]uint64{}}, arrived: make(chan struct{}, 1)}
	for range maxWaiting + 5 {
		w.put(Received{})
	}
	assert.Len(t, w.Take(nil), maxWaiting)
	assert.Equal(t, uint64(5), w.Rejected()[envelope.RejectOverflow])
}

// A node with hundreds of groups asks this for each message of any of them.
func TestHubKnowsWhoIsHeardWithoutAListOfGroups(t *testing.T) {
	h := &Hub{}
	for range 255 {
		h.wires = append(h.wires, &Wire{peers: []netip.Addr{nodeA}})
	}
	assert.True(t, (h.unheard(nodeA, 255) == ""))
	assert.False(t, (h.unheard(nodeB, 255) == ""))
	assert.Zero(t, testing.AllocsPerRun(10, func() { h.unheard(nodeB, 255) }))
}
