package virtualrouter

import (
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/vrrp"
)

// fakeSocket is a Socket in memory.
type fakeSocket struct {
	group netip.Addr

	mu      sync.Mutex // guards what follows
	queue   []vrrp.Datagram
	sent    []netip.Addr
	refused []netip.Addr    // sending to these fails
	stalls  []time.Duration // for so long, once it has sent to a peer, the first time and so on
	onLink  int             // packets for nobody
	longest int             // of these, in bytes
	noLink  error           // of WriteLink
	filter  []uint8
	peers   []netip.Addr
	drains  int
	closed  chan struct{}
	ready   chan struct{}
}

func newFakeSocket() *fakeSocket {
	return &fakeSocket{
		group: netip.MustParseAddr("224.0.0.18"), closed: make(chan struct{}), ready: make(chan struct{}, 1),
	}
}

func (s *fakeSocket) Write(_ []byte, dst netip.Addr) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.refused, dst) {
		return errRefused
	}
	s.sent = append(s.sent, dst)
	if len(s.stalls) > 0 {
		time.Sleep(s.stalls[0])
		s.stalls = s.stalls[1:]
	}
	return nil
}

func (s *fakeSocket) WriteLink(b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onLink, s.longest = s.onLink+1, max(s.longest, len(b))
	return s.noLink
}

func (s *fakeSocket) Wait() error {
	select {
	case <-s.closed:
		return net.ErrClosed
	case <-s.ready:
		return nil
	}
}

func (s *fakeSocket) Drain(fn func(vrrp.Datagram)) error {
	s.mu.Lock()
	queue := s.queue
	s.queue = nil
	s.drains++
	s.mu.Unlock()
	for _, d := range queue {
		fn(d)
	}
	return nil
}

func (s *fakeSocket) SetFilter(v []uint8, peers []netip.Addr) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.filter, s.peers = v, peers
	return nil
}

func (s *fakeSocket) Group() netip.Addr { return s.group }

func (s *fakeSocket) Close() error { close(s.closed); return nil }

// arrive puts an advertisement into the queue, as from the network.
func (s *fakeSocket) arrive(t *testing.T, from netip.Addr, change func(*vrrp.Advertisement)) {
	t.Helper()
	adv := vrrp.Advertisement{Version: 3, VRID: 51, Priority: 100, Interval: interval, Addresses: []netip.Addr{vip}}
	if change != nil {
		change(&adv)
	}
	to := s.group
	if s.peers != nil {
		to = nodeA
	}
	b, err := adv.Append(nil, from, to, vrrp.PseudoHeader)
	require.NoError(t, err)
	s.raw(vrrp.Datagram{Source: from, Destination: to, TTL: 255, Payload: b})
}

// What the configuration of this node keeps out is named with its remedy, also where the members say nothing to each other.
func TestHubNamesWhatItsConfigurationKeepsOut(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newFakeSocket()
		h := NewHub(s, vrrp.ConnConfig{Source: nodeA}, nil, quiet)
		cfg := wireConfig()
		cfg.Peers = []netip.Addr{nodeA, nodeB}
		w, err := h.Join(cfg, quiet)
		require.NoError(t, err)
		s.arrive(t, nodeC, nil)
		payload, err := vrrp.Advertisement{Version: 3, VRID: 51, Priority: 100, Interval: interval, Addresses: []netip.Addr{vip}}.Append(nil, nodeB, nodeA, vrrp.PseudoHeader)
		require.NoError(t, err)
		s.raw(vrrp.Datagram{Source: nodeB, Destination: nodeA, TTL: 254, LeastTTL: 255, Payload: payload})
		other := netip.MustParseAddr("10.77.0.77") // of a cluster that speaks by multicast
		payload, err = vrrp.Advertisement{Version: 3, VRID: 51, Priority: 100, Interval: interval, Addresses: []netip.Addr{vip}}.Append(nil, other, s.group, vrrp.PseudoHeader)
		require.NoError(t, err)
		s.raw(vrrp.Datagram{Source: other, Destination: s.group, TTL: 255, Payload: payload})
		time.Sleep(2 * junkPause)
		assert.Empty(t, w.Take(nil))
		got := map[code.Code]string{}
		for _, r := range w.Rejections().List() {
			got[r.Code] = r.Source.String() + ": " + r.Remedy
		}
		require.Len(t, got, 2)
		assert.Contains(t, got[code.NotAPeer], nodeC.String()+": add the sender's address to vrrp.peers")
		assert.Contains(t, got[code.BehindRouter], nodeB.String()+": set vrrp.minTTL")
		require.NoError(t, h.Close())
	})
}

func (s *fakeSocket) raw(d vrrp.Datagram) {
	s.mu.Lock()
	s.queue = append(s.queue, d)
	s.mu.Unlock()
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

func wireConfig() Config {
	return Config{Router: vrrp.Config{Version: 3, VRID: 51, Addresses: []netip.Addr{vip}}, Form: vrrp.PseudoHeader}
}

func TestHubHandsEachAdvertisementToThoseThatItConcerns(t *testing.T) {
	other := netip.MustParseAddr("10.77.0.200")
	tests := []struct {
		name   string
		change func(*vrrp.Advertisement)
		from   netip.Addr
		mine   int
		theirs int
		reason string
	}{
		{name: "ours", from: nodeB, mine: 1, reason: ""},
		{
			name: "one address shared is enough", from: nodeB, mine: 1, theirs: 1,
			change: func(a *vrrp.Advertisement) { a.Addresses = []netip.Addr{vip, other} },
		},
		{
			name: "another cluster's list", from: nodeB, theirs: 1, reason: "addresses",
			change: func(a *vrrp.Advertisement) { a.Addresses = []netip.Addr{other} },
		},
		{
			name: "another VRID", from: nodeB,
			change: func(a *vrrp.Advertisement) { a.VRID = 52 },
		},
		{
			name: "another version", from: nodeB, reason: "version",
			change: func(a *vrrp.Advertisement) { a.Version, a.Interval = 2, time.Second },
		},
		{name: "our own, looped back", from: nodeA, reason: "own"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				s := newFakeSocket()
				h := NewHub(s, vrrp.ConnConfig{Source: nodeA}, nil, quiet)
				mine, err := h.Join(wireConfig(), quiet)
				require.NoError(t, err)
				cfg := wireConfig()
				cfg.Router.Addresses = []netip.Addr{other}
				theirs, err := h.Join(cfg, quiet)
				require.NoError(t, err)
				s.arrive(t, tt.from, tt.change)
				synctest.Wait()
				assert.Len(t, mine.Take(nil), tt.mine)
				assert.Len(t, theirs.Take(nil), tt.theirs)
				if tt.reason != "" {
					assert.Equal(t, uint64(1), mine.Rejections().Counts()[tt.reason])
				}
				require.NoError(t, h.Close())
			})
		})
	}
}

// A Virtual Router may advertise no addresses: hooks move them, or advertisements leave them out. To a router that has
// a list it belongs to another cluster.
func TestHubHandsAnAdvertisementWithoutAddressesToOneWithout(t *testing.T) {
	for name, tt := range map[string]struct {
		own    []netip.Addr
		any    bool
		reason string // empty: it is taken
	}{
		"without addresses":                {nil, false, ""},
		"with addresses":                   {[]netip.Addr{vip}, false, "addresses"},
		"with addresses, any list does":    {[]netip.Addr{vip}, true, "count"},
		"without addresses, any list does": {nil, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				s := newFakeSocket()
				h := NewHub(s, vrrp.ConnConfig{Source: nodeA}, nil, quiet)
				cfg := wireConfig()
				cfg.Router.Addresses, cfg.AnyAddresses = tt.own, tt.any
				w, err := h.Join(cfg, quiet)
				require.NoError(t, err)
				s.arrive(t, nodeB, func(a *vrrp.Advertisement) { a.Addresses = nil })
				synctest.Wait()
				if tt.reason == "" {
					assert.Len(t, w.Take(nil), 1)
				} else {
					assert.Empty(t, w.Take(nil))
					assert.Equal(t, map[string]uint64{tt.reason: 1}, w.Rejections().Counts())
				}
				require.NoError(t, h.Close())
			})
		})
	}
}

func TestHubCountsJunkByReason(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newFakeSocket()
		h := NewHub(s, vrrp.ConnConfig{Source: nodeA}, nil, quiet)
		w, err := h.Join(wireConfig(), quiet)
		require.NoError(t, err)
		s.raw(vrrp.Datagram{Source: nodeB, Destination: s.group, TTL: 255, Payload: []byte{0x31, 51}})
		synctest.Wait()
		assert.Empty(t, w.Take(nil))
		assert.Equal(t, uint64(1), w.Rejections().Counts()["length"])
		require.NoError(t, h.Close())
	})
}

func TestHubKeepsTheNewestOfEachSender(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newFakeSocket()
		h := NewHub(s, vrrp.ConnConfig{Source: nodeA}, nil, quiet)
		w, err := h.Join(wireConfig(), quiet)
		require.NoError(t, err)
		for p := range uint8(50) {
			s.arrive(t, nodeB, func(a *vrrp.Advertisement) { a.Priority = p })
			s.arrive(t, nodeC, func(a *vrrp.Advertisement) { a.Priority = p + 100 })
		}
		synctest.Wait()
		got := w.Take(nil)
		require.Len(t, got, 2)
		assert.Equal(t, uint8(49), got[0].Advertisement.Priority)
		assert.Equal(t, uint8(149), got[1].Advertisement.Priority)
		require.NoError(t, h.Close())
	})
}

func TestMailboxKeepsTheHighestPriorityWhenFull(t *testing.T) {
	box := newMailbox()
	put := func(source netip.Addr, priority uint8) {
		box.put(Arrival{Source: source, Advertisement: vrrp.Advertisement{Priority: priority}})
	}
	flood := func(priority uint8) (last netip.Addr) {
		last = netip.MustParseAddr("10.88.0.1")
		for range 2 * maxMembers {
			last = last.Next()
			put(last, priority)
		}
		return last
	}
	put(nodeB, 100)
	last := flood(2)
	put(netip.MustParseAddr("10.88.1.1"), 1)
	got := box.take(nil)
	require.Len(t, got, maxMembers)
	assert.Equal(t, nodeB, got[0].Source)
	assert.Equal(t, last, got[maxMembers-1].Source, "of equals the oldest makes room")

	put(nodeB, 100)
	put(nodeC, 100)
	flood(0) // a resignation counts from the Active alone
	put(nodeC, 0)
	got = box.take(nil)
	require.Len(t, got, maxMembers)
	assert.Equal(t, nodeB, got[0].Source)
	assert.Equal(t, nodeC, got[maxMembers-1].Source)
	assert.Zero(t, got[maxMembers-1].Advertisement.Priority, "what a sender said last counts")
}

func TestHubUnicastSendsToEachPeerButItselfAndListensToNobodyElse(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newFakeSocket()
		h := NewHub(s, vrrp.ConnConfig{Source: nodeA}, nil, quiet)
		cfg := wireConfig()
		cfg.Peers = []netip.Addr{nodeA, nodeB}
		w, err := h.Join(cfg, quiet)
		require.NoError(t, err)
		adv := vrrp.Advertisement{Version: 3, VRID: 51, Priority: 100, Interval: interval, Addresses: []netip.Addr{vip}}
		require.NoError(t, w.Send(adv))
		assert.Equal(t, []netip.Addr{nodeB}, s.sent)
		s.arrive(t, nodeC, nil)
		synctest.Wait()
		assert.Empty(t, w.Take(nil))
		assert.Equal(t, uint64(1), w.Rejections().Counts()["peer"])
		require.NoError(t, h.Close())
	})
}

func TestHubFilterFollowsItsWires(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newFakeSocket()
		h := NewHub(s, vrrp.ConnConfig{Source: nodeA}, nil, quiet)
		a, err := h.Join(wireConfig(), quiet)
		require.NoError(t, err)
		cfg := wireConfig()
		cfg.Router.VRID = 7
		b, err := h.Join(cfg, quiet)
		require.NoError(t, err)
		assert.Equal(t, []uint8{7, 51}, s.filter)
		require.NoError(t, a.Close())
		assert.Equal(t, []uint8{7}, s.filter)
		require.NoError(t, b.Close())
		assert.Empty(t, s.filter)
		require.NoError(t, h.Close())
		_, err = h.Join(cfg, quiet)
		assert.ErrorIs(t, err, net.ErrClosed)
	})
}

// Groups with different peers share a socket, so the kernel lets in whatever any of them wants, and each wire decides again.
func TestHubWiresWithDifferentPeersShareASocket(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newFakeSocket()
		h := NewHub(s, vrrp.ConnConfig{Source: nodeA}, nil, quiet)
		join := func(vrid uint8, peers ...netip.Addr) Wire {
			cfg := wireConfig()
			cfg.Router.VRID, cfg.Peers = vrid, peers
			w, err := h.Join(cfg, quiet)
			require.NoError(t, err)
			return w
		}
		first, second := join(51, nodeA, nodeB), join(52, nodeC, nodeA)
		assert.Equal(t, []netip.Addr{nodeA, nodeB, nodeC}, s.peers)
		for _, from := range []netip.Addr{nodeB, nodeC} {
			s.arrive(t, from, nil)
			s.arrive(t, from, func(a *vrrp.Advertisement) { a.VRID = 52 })
		}
		time.Sleep(2 * junkPause) // the reader may have found one alone that is for nobody
		for w, want := range map[Wire]netip.Addr{first: nodeB, second: nodeC} {
			got := w.Take(nil)
			require.Len(t, got, 1)
			assert.Equal(t, want, got[0].Source)
			assert.Equal(t, uint64(1), w.Rejections().Counts()["peer"])
		}

		require.NoError(t, second.Close())
		assert.Equal(t, []netip.Addr{nodeA, nodeB}, s.peers, "the other's wire is as it was")
		third := join(52)
		assert.Nil(t, s.peers, "anybody")
		require.NoError(t, third.Close())
		require.NoError(t, first.Close())
		assert.Equal(t, []uint8{}, s.filter, "nothing")
		require.NoError(t, h.Close())
	})
}

func TestHubAgeIsTheArrivalsTime(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newFakeSocket()
		h := NewHub(s, vrrp.ConnConfig{Source: nodeA}, nil, quiet)
		w, err := h.Join(wireConfig(), quiet)
		require.NoError(t, err)
		adv := vrrp.Advertisement{Version: 3, VRID: 51, Priority: 100, Interval: interval, Addresses: []netip.Addr{vip}}
		b, err := adv.Append(nil, nodeB, s.group, vrrp.PseudoHeader)
		require.NoError(t, err)
		s.raw(vrrp.Datagram{Source: nodeB, Destination: s.group, TTL: 255, Payload: b, Age: 70 * time.Millisecond})
		synctest.Wait()
		got := w.Take(nil)
		require.Len(t, got, 1)
		assert.Equal(t, 70*time.Millisecond, time.Since(got[0].At))
		require.NoError(t, h.Close())
	})
}

// A flood of junk neither delays what is sent nor hides what is meant for us, and does not wake the reader for each packet.
func TestHubUnderAFloodOfJunk(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newFakeSocket()
		h := NewHub(s, vrrp.ConnConfig{Source: nodeA}, nil, quiet)
		w, err := h.Join(wireConfig(), quiet)
		require.NoError(t, err)
		const junk = 20_000
		for i := range junk {
			s.raw(vrrp.Datagram{Source: nodeC, Destination: s.group, TTL: 255, Payload: []byte{0x31, 51}})
			if i%2000 == 1000 {
				s.arrive(t, nodeB, nil)
				before := time.Now()
				require.NoError(t, w.Send(vrrp.Advertisement{Version: 3, VRID: 51, Priority: 100, Interval: interval, Addresses: []netip.Addr{vip}}))
				assert.Zero(t, time.Since(before))
			}
			time.Sleep(time.Second / junk)
		}
		time.Sleep(2 * junkPause)
		assert.Len(t, w.Take(nil), 1)
		assert.Equal(t, map[string]uint64{"length": junk}, w.Rejections().Counts())
		assert.Less(t, s.drains, 600)
		require.NoError(t, h.Close())
	})
}

// The elector that looks before it takes over sees everything at once, whatever the reader is waiting for.
func TestHubDrainDoesNotWaitForTheReader(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newFakeSocket()
		h := NewHub(s, vrrp.ConnConfig{Source: nodeA}, nil, quiet)
		w, err := h.Join(wireConfig(), quiet)
		require.NoError(t, err)
		s.raw(vrrp.Datagram{Source: nodeC, Destination: s.group, TTL: 255, Payload: []byte{0x31, 51}})
		synctest.Wait() // the reader pauses now
		s.arrive(t, nodeB, nil)
		w.Drain(time.Now())
		assert.Len(t, w.Take(nil), 1)
		require.NoError(t, h.Close())
	})
}

// Hundreds of Virtual Routers are due at the same moment.
func TestHubDrainServesThoseThatAreDueTogether(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newFakeSocket()
		h := NewHub(s, vrrp.ConnConfig{Source: nodeA}, nil, quiet)
		w, err := h.Join(wireConfig(), quiet)
		require.NoError(t, err)
		time.Sleep(time.Second)
		due := time.Now()
		time.Sleep(drainedNews / 4) // it is served late
		drained := func(by time.Time) bool {
			before := s.drains
			w.Drain(by)
			return s.drains != before
		}
		assert.True(t, drained(due))
		assert.False(t, drained(due), "what has arrived by then has been read")
		assert.False(t, drained(due.Add(-time.Second)))
		assert.True(t, drained(time.Now()), "what arrived since has not")
		time.Sleep(drainedNews)
		assert.True(t, drained(due), "this process may have stood still since")
		require.NoError(t, h.Close())
	})
}
