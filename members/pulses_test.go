package members

import (
	"log/slog"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/auth"
	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/members/pulse"
)

// hostEchoes are echoes that hosts answer as long as they live.
type hostEchoes struct {
	mu      sync.Mutex // guards what follows
	dead    bool
	answers []pulse.Echoed
}

func (e *hostEchoes) Send(to netip.Addr) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.dead {
		e.answers = append(e.answers, pulse.Echoed{From: to, At: time.Now()})
	}
	return nil
}

func (e *hostEchoes) Answers(fn func(pulse.Echoed)) {
	e.mu.Lock()
	list := e.answers
	e.answers = nil
	e.mu.Unlock()
	for _, a := range list {
		fn(a)
	}
}

func (e *hostEchoes) Close() error { return nil }

func (e *hostEchoes) die() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.dead = true
}

// watcher is a node that goes by the beats of nodeA, with nodeC as the third.
type watcher struct {
	t      *testing.T
	key    auth.Key
	sock   *wireSocket
	hub    *Hub
	wire   *Wire
	echoes *hostEchoes
	user   *pulse.User
	felt   *pulse.Pulse
	number uint32
}

func newWatcher(t *testing.T) *watcher {
	w := &watcher{t: t, key: testKey(t, 1), sock: newWireSocket(), echoes: &hostEchoes{}}
	w.hub = NewHub(w.sock, ConnConfig{Source: nodeB}, newAuth(t, time.Now(), w.key), nil)
	w.wire = w.hub.Join(group, nil, 0)
	w.felt = pulse.Open(pulse.Config{
		Source: nodeB, Session: 2, Send: w.hub.SendPulse, Behind: w.hub.Behind, Gone: w.hub.Gone, Log: slog.New(slog.DiscardHandler),
	}, w.echoes)
	w.hub.Feel(w.felt)
	w.user = w.felt.Join(pulse.Witness{})
	w.user.Tell(false, nodeA)
	for _, a := range []netip.Addr{nodeA, nodeC} {
		m := full()
		m.Peer.Fast, m.Peer.Lifetime = true, time.Minute
		b, err := m.AppendSigned(nil, uint64(time.Now().UnixNano()), &w.key, a)
		require.NoError(t, err)
		w.sock.in <- received1{b: b, source: a}
	}
	for range 20 {
		w.say(&w.key, nodeA, w.beat())
		time.Sleep(pulse.Every)
	}
	w.taken()
	return w
}

func (w *watcher) close() {
	w.hub.Feel(nil)
	require.NoError(w.t, w.felt.Close())
	require.NoError(w.t, w.hub.Close())
}

func (w *watcher) beat() pulse.Message {
	w.number++
	return pulse.Message{Type: pulse.Beat, Session: 1, Number: w.number, Every: pulse.Every}
}

// say gives the hub a message as signed with a key, or unsigned, and returns its octets.
func (w *watcher) say(key *auth.Key, from netip.Addr, m pulse.Message) []byte {
	b := m.Append(nil, uint64(time.Now().UnixNano()))
	if key != nil {
		b = key.AppendTrailer(b, covered(b, key.ID, from)...)
	}
	w.sock.in <- received1{b: b, source: from}
	return b
}

// taken is what the pulse has told the group: who is gone.
func (w *watcher) taken() (gone []pulse.Gone) {
	synctest.Wait()
	for _, r := range w.wire.Take(nil) {
		if r.Gone != nil {
			gone = append(gone, *r.Gone)
		}
	}
	return gone
}

func TestHubTellsThatTheNodeOfAMemberIsGone(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWatcher(t)
		w.echoes.die()
		time.Sleep(60 * time.Millisecond)
		assert.Empty(t, w.taken(), "nobody has agreed yet")
		w.say(&w.key, nodeC, pulse.Message{Type: pulse.Word, Session: 3, About: nodeA})
		time.Sleep(40 * time.Millisecond)
		gone := w.taken()
		require.Len(t, gone, 1)
		assert.Equal(t, nodeA, gone[0].Source)
		assert.Equal(t, []netip.Addr{nodeC}, gone[0].Agreed)
		asked := false
		for len(w.sock.out) > 0 {
			b := <-w.sock.out
			m, err := newAuth(t, time.Now(), w.key).verifyPulse(b, nodeB, time.Now())
			require.NoError(t, err, "what leaves is signed")
			asked = asked || m.Type == pulse.Ask && m.About == nodeA
		}
		assert.True(t, asked)
		w.close()
	})
}

// A reload takes one of several entries away.
func TestNodeThatLeavesOneGroupIsWatchedForTheOthers(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWatcher(t)
		another := netip.MustParseAddr("10.77.0.101")
		other := w.hub.Join(another, nil, 0)
		speak := func(of netip.Addr, lifetime time.Duration) {
			time.Sleep(time.Millisecond) // no message is older than the one before
			m := full()
			m.Peer.Fast, m.Peer.Group, m.Peer.Lifetime = true, of, lifetime
			b, err := m.AppendSigned(nil, uint64(time.Now().UnixNano()), &w.key, nodeA)
			require.NoError(t, err)
			w.sock.in <- received1{b: b, source: nodeA}
			w.taken()
		}
		why := func() string { _, why := w.user.State(nodeA); return why }
		speak(another, time.Minute)
		require.Empty(t, why())
		speak(another, 0)
		assert.Empty(t, why(), "it is in the first group yet")
		speak(group, 0)
		assert.Contains(t, why(), "not heard as a member", "it has left the last one")
		other.Close()
		w.close()
	})
}

func TestHubBelievesNoStrangerAboutBeats(t *testing.T) {
	other := testKey(t, 2)
	word := pulse.Message{Type: pulse.Word, Session: 3, About: nodeA}
	for name, tt := range map[string]struct {
		say  func(w *watcher)
		want Reason
	}{
		"unsigned":       {func(w *watcher) { w.say(nil, nodeC, word) }, RejectUnsigned},
		"another key":    {func(w *watcher) { w.say(&other, nodeC, word) }, RejectKey},
		"another's name": {func(w *watcher) { b := w.say(&w.key, nodeC, word); w.sock.in <- received1{b: b, source: nodeA} }, RejectMAC},
		"no member":      {func(w *watcher) { w.say(&w.key, netip.MustParseAddr("10.77.0.99"), word) }, ""},
		"changed": {func(w *watcher) {
			b := word.Append(nil, uint64(time.Now().UnixNano()))
			b = w.key.AppendTrailer(b, covered(b, w.key.ID, nodeC)...)
			b[len(b)-1]++
			w.sock.in <- received1{b: b, source: nodeC}
		}, RejectMAC},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				w := newWatcher(t)
				w.echoes.die()
				time.Sleep(60 * time.Millisecond)
				if name == "another's name" { // only what comes second is a stranger's: the holder's own word about itself
					tt.say(w)
				} else {
					tt.say(w)
					time.Sleep(40 * time.Millisecond)
					assert.Empty(t, w.taken())
				}
				synctest.Wait()
				if tt.want != "" {
					assert.EqualValues(t, 1, w.wire.Rejected()[tt.want])
				}
				w.close()
			})
		})
	}
}

// TestRepeatedBeatShowsNoLife: what was captured of a holder that is dead.
func TestRepeatedBeatShowsNoLife(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWatcher(t)
		b := w.say(&w.key, nodeA, w.beat())
		time.Sleep(pulse.Every)
		w.echoes.die()
		for range 6 {
			w.sock.in <- received1{b: b, source: nodeA}
			w.say(&w.key, nodeC, pulse.Message{Type: pulse.Word, Session: 3, About: nodeA})
			time.Sleep(10 * time.Millisecond)
		}
		assert.Len(t, w.taken(), 1, "it is gone all the same")
		assert.EqualValues(t, 6, w.wire.Rejected()[RejectReplay])
		w.close()
	})
}

func TestBeatsGoToThePeersOfAllGroups(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newWireSocket()
		h := NewHub(s, ConnConfig{Source: nodeB}, newAuth(t, time.Now()), nil)
		beat := pulse.Message{Type: pulse.Beat, Session: 1, Number: 1, Every: pulse.Every}
		require.NoError(t, h.SendPulse(beat))
		assert.Empty(t, s.out, "there is nobody")
		h.Join(group, []netip.Addr{nodeA, nodeB}, 0)
		h.Join(nodeC, []netip.Addr{nodeC, nodeB, nodeA}, 0)
		require.NoError(t, h.SendPulse(beat))
		assert.Equal(t, []netip.Addr{nodeA, nodeC}, s.to, "each once, and not to itself")
		require.NoError(t, h.Close())
	})
}

// TestGatewayStandsInForAThirdMember as soon as one is known, and the next one in its place.
func TestGatewayStandsInForAThirdMember(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		p := pulse.Open(pulse.Config{
			Source: nodeB, Send: func(pulse.Message) error { return nil }, Behind: func() bool { return false }, Gone: func(pulse.Gone) {}, Log: slog.New(slog.DiscardHandler),
		}, &hostEchoes{})
		u := p.Join(pulse.Witness{Gateway: true})
		u.Tell(false, nodeA)
		p.Meet(nodeA, group, time.Minute)
		why := func() string {
			for i := range 20 {
				p.Receive(nodeA, pulse.Message{Type: pulse.Beat, Session: 1, Number: uint32(time.Now().UnixMilli()) + uint32(i), Every: pulse.Every}, time.Now())
				time.Sleep(pulse.Every)
			}
			_, why := u.State(nodeA)
			return why
		}
		assert.Equal(t, "no third member is heard, and no default route of this node leaves by the link, so there is no gateway to ask", why())
		p.SetGateway(netip.MustParseAddr("10.77.0.1"))
		assert.Empty(t, why())
		p.SetGateway(netip.Addr{})
		assert.Contains(t, why(), "no gateway to ask")
		other := p.Join(pulse.Witness{Host: netip.MustParseAddr("10.77.0.2")})
		assert.Empty(t, why(), "another entry knows a host")
		other.Close()
		assert.NotEmpty(t, why())
		u.Close()
		assert.NoError(t, p.Close())
	})
}
