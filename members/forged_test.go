package members

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/vrrp"
)

// Without a key whoever reaches the link can say HELLO as a member that never was. One that hears nobody, and says that its
// message lives for long, counts for no longer than a message of this node would.
func TestMachineForgedClaimIsShort(t *testing.T) {
	const forged = 65 * time.Second
	for name, tt := range map[string]struct {
		every, interval, want time.Duration
	}{
		"as long as our HELLO lives":                  {DefaultEvery, 100 * ms, 3500 * ms},
		"of many addresses HELLOs are rare":           {10 * time.Second, 100 * ms, 35 * time.Second},
		"as long as our advertisement, which is rare": {DefaultEvery, 10 * time.Second, 40 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			now := epoch.Add(time.Minute)
			m := NewMachine(Config{Group: group, Address: nodeA, Session: 0xa, Every: tt.every})
			router := Router{Version: 3, VRID: 51, Interval: tt.interval}
			m.Step(now, SetSelf{Self: Self{State: vrrp.Active, Fit: true, Claims: true, Router: router}})
			msg := claimant()
			msg.Peer.Lifetime = forged
			m.Step(now, Received{Source: nodeB, Message: msg})
			now = now.Add(deafAfter)
			list := claims(m.Step(now, Received{Source: nodeB, Message: msg}))
			require.Len(t, list, 1)
			assert.True(t, list[0].Deaf)
			assert.Equal(t, tt.want, list[0].Lasts)
			assert.Len(t, m.Claimants(now.Add(tt.want-ms)), 1)
			assert.Empty(t, m.Claimants(now.Add(tt.want)))
		})
	}
}

// A claim that states a long interval, of one that hears this node, counts for no longer either: status would say SPLIT.
func TestMachineForgedIntervalIsShort(t *testing.T) {
	now := epoch.Add(time.Minute)
	m := NewMachine(Config{Group: group, Address: nodeA, Session: 0xa})
	m.Step(now, SetSelf{Self: Self{State: vrrp.Backup, Fit: true, Router: Router{Version: 3, VRID: 51, Interval: 100 * ms}}})
	msg := claimant(Heard{Session: 0xa})
	msg.Peer.Lifetime, msg.Peer.Router.Interval = 65*time.Second, maxInterval
	m.Step(now, Received{Source: nodeB, Message: msg})
	assert.Len(t, m.Claimants(now.Add(3499*ms)), 1)
	assert.Empty(t, m.Claimants(now.Add(3500*ms)))
}

// Whoever is silent for long between two messages does not make the second count for longer.
func TestMachineForgedClaimAfterALongSilenceIsBounded(t *testing.T) {
	now := epoch.Add(time.Minute)
	m := NewMachine(Config{Group: group, Address: nodeA, Session: 0xa})
	m.Step(now, SetSelf{Self: Self{State: vrrp.Active, Fit: true, Claims: true, Router: Router{Version: 3, VRID: 51, Interval: 100 * ms}}})
	msg := claimant()
	msg.Peer.Lifetime = 65 * time.Second
	m.Step(now, Received{Source: nodeB, Message: msg})
	list := claims(m.Step(now.Add(60*time.Second), Received{Source: nodeB, Message: msg}))
	require.Len(t, list, 1)
	assert.Equal(t, lifetime(DefaultEvery), list[0].Lasts)
}

// Each invented claimant changes who is missing, and each of them that is forgotten does, too.
func TestMachineForgedClaimantsDrawFewHellos(t *testing.T) {
	for name, tt := range map[string]struct {
		self Self
		most int
	}{
		"a Backup": {Self{State: vrrp.Backup, Fit: true, Priority: 100}, 60},
		"a holder, which answers that it claims, too": {Self{State: vrrp.Active, Fit: true, Priority: 100, Claims: true}, 110},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			r.step(SetSelf{Self: tt.self})
			r.wait(10 * time.Second)
			hellos := 0
			say := func(ev Event) {
				for _, s := range r.step(ev) {
					if s == "HELLO" {
						hellos++
					}
				}
			}
			msg := claimant()
			msg.Peer.Router.Interval = ms
			const many = 500
			for i := range many {
				for next := r.now.Add(time.Second / many); r.now.Before(next); {
					if at, ok := r.m.Deadline(); ok && at.Before(next) {
						r.now = at
						say(Expired{})
						continue
					}
					r.now = next
				}
				say(Received{Source: netip.AddrFrom4([4]byte{10, 88, byte(i >> 8), byte(i)}), Message: msg})
			}
			assert.LessOrEqual(t, hellos, tt.most)
			assert.Greater(t, hellos, 20, "it says what is missing")
		})
	}
}

// An unfit holder of a new session with each packet, or one that is fit again with each second packet, starts no look at the
// service for each of them.
func TestMachineForgedUnfitHoldersStartFewLooks(t *testing.T) {
	for name, tt := range map[string]struct {
		takes time.Duration // one look
		fit   bool          // what it finds
		turn  bool          // each second packet says that the holder is fit
		most  int
	}{
		"the look finds it fit":                        {takes: 5 * ms, fit: true, most: 5},
		"the look finds it unfit":                      {takes: 5 * ms, most: 5},
		"looks last, and holders are fit between them": {takes: 600 * ms, fit: true, turn: true, most: 2},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			r.self(vrrp.Backup, true)
			var ends time.Time // of the look that is under way
			looks := 0
			for i := range 200 {
				var out []string
				if !ends.IsZero() && !r.now.Before(ends) {
					ends = time.Time{}
					out = r.step(Confirmed{ID: r.m.requester.id, Fit: tt.fit})
				}
				msg := Message{Type: Hello, Session: uint64(i + 1), Peer: other(vrrp.Active, tt.turn && i%2 == 1)}
				out = append(out, r.step(Received{Source: nodeB, Message: msg})...)
				out = append(out, r.wait(5*ms)...)
				for _, s := range out {
					if strings.HasPrefix(s, "confirm") {
						assert.True(t, ends.IsZero(), "one look at a time")
						ends = r.now.Add(tt.takes)
						looks++
					}
				}
			}
			assert.LessOrEqual(t, looks, tt.most)
			assert.Positive(t, looks)
		})
	}
}

// A holder that was restarted is asked as soon as the look that is under way is over, or the pause after the last one.
func TestMachineRequesterAsksAHolderThatWasRestarted(t *testing.T) {
	restarted := Received{Source: nodeB, Message: Message{Type: Hello, Session: 0xbb, Peer: other(vrrp.Active, false)}}
	t.Run("while it looks", func(t *testing.T) {
		r := newRig(t, nil)
		r.self(vrrp.Backup, true)
		assert.Equal(t, []string{"confirm 1"}, r.hello(nodeB, other(vrrp.Active, false)))
		assert.NotContains(t, r.step(restarted), "confirm 2")
		assert.Equal(t, []string{"REQUEST to 10.77.0.12 nonce 2"}, without(r.step(Confirmed{ID: 1, Fit: true}), "HELLO"))
		assert.EqualValues(t, 0xbb, r.m.requester.session)
	})
	t.Run("after it", func(t *testing.T) {
		r := newRig(t, nil)
		r.self(vrrp.Backup, true)
		r.hello(nodeB, other(vrrp.Active, false))
		assert.Equal(t, []string{"REQUEST to 10.77.0.12 nonce 2"}, without(r.step(Confirmed{ID: 1, Fit: true}), "HELLO"))
		assert.Empty(t, without(r.step(restarted), "HELLO"))
		assert.Empty(t, r.wait(retryConfirm-ms))
		assert.True(t, r.m.Defers(r.now, nodeB))
		assert.Equal(t, []string{"confirm 3"}, r.wait(ms))
	})
}

// invented is the address of a sender that is no member.
func invented(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 88, byte(i >> 8), byte(i)}) }

func (r *rig) knows(a netip.Addr) bool {
	return slices.ContainsFunc(r.m.Members(nil, r.now), func(m Member) bool { return m.Address == a })
}

// Members that speak once in a second stay, however many invented nodes speak between two of their messages.
func TestMachineInventedMembersDisplaceNoMember(t *testing.T) {
	for name, tt := range map[string]struct {
		first int // invented nodes that spoke before the members, and go on
		then  int // others, each second
		again int // how often each of the others speaks
	}{
		"each speaks once":                {then: 500, again: 1},
		"each speaks three times":         {then: 150, again: 3},
		"some of them spoke first":        {first: 30, then: 500, again: 1},
		"as many as there are places did": {first: maxMembers - 2},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			r.self(vrrp.Backup, true)
			say := func(a netip.Addr) { r.hello(a, other(vrrp.Backup, true)) }
			for second := range 10 {
				for i := range tt.first {
					say(invented(60000 + i))
				}
				for _, a := range []netip.Addr{nodeB, nodeC} {
					if second > 0 {
						assert.True(t, r.knows(a), "%v after %d s", a, second)
					}
					say(a)
				}
				r.wait(400 * ms)
				for i := range tt.then * min(second, 1) { // each member has spoken twice before
					for range tt.again {
						say(invented(second*1000 + i))
						r.wait(ms)
					}
				}
				r.wait(100 * ms)
			}
		})
	}
}

// Those that spoke first do not keep a member out, however many they are: it is known as soon as it speaks, and for longer than
// a few others speak.
func TestMachineInventedMembersKeepNobodyOut(t *testing.T) {
	r := newRig(t, nil)
	r.self(vrrp.Backup, true)
	say := func(a netip.Addr) { r.hello(a, other(vrrp.Backup, true)) }
	for second := range 20 {
		for i := range 2 * maxMembers {
			say(invented(i))
			r.wait(ms)
		}
		if second >= 10 {
			say(nodeB)
			for i := range maxMembers / 4 {
				say(invented(second*1000 + i))
			}
			assert.True(t, r.knows(nodeB), "after %d s", second)
		}
		r.wait(800 * ms)
	}
	assert.Len(t, r.m.Members(nil, r.now), maxMembers)
}

// Invented claimants do not take the place of a holder among those that a HELLO says are heard: it would take this node for deaf.
func TestMachineHelloNamesTheHolderAmongInventedClaimants(t *testing.T) {
	r := newRig(t, nil)
	r.self(vrrp.Backup, true)
	say := func(a netip.Addr, session uint64) {
		msg := claimant()
		msg.Session = session
		r.step(Received{Source: a, Message: msg})
	}
	holder := netip.MustParseAddr("10.99.0.1") // after all others
	for range 3 {
		say(holder, 1)
		r.wait(100 * ms)
	}
	for i := range 2 * maxHears {
		say(invented(i), uint64(i+2))
	}
	hears := r.m.known.message(Hello, Transfer{}).Peer.Hears
	assert.Len(t, hears, maxHears)
	assert.True(t, slices.ContainsFunc(hears, func(h Heard) bool { return h.Session == 1 }))
}

// REQUESTs of nodes that rank lower, or may not have the address, do not keep that of a member out.
func TestMachineGrantsBesideInventedRequests(t *testing.T) {
	for name, tt := range map[string]struct {
		holder   Self
		priority uint8 // of the invented nodes
	}{
		"the holder is fit, and they rank lower than it":  {Self{Fit: true, Priority: 100}, 1},
		"the holder is fit, and they rank as it does":     {Self{Fit: true, Priority: 100}, 100},
		"the holder is not fit":                           {Self{Priority: 1}, 100},
		"the holder is not fit, and wants to give to one": {Self{Priority: 1, For: nodeB}, 255},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			tt.holder.State = vrrp.Active
			r.step(SetSelf{Self: tt.holder})
			f := other(vrrp.Backup, true)
			f.Priority = 200
			r.hello(nodeB, f)
			r.wait(time.Second)
			r.hello(nodeB, f)
			f.Priority = tt.priority
			for i := range maxMembers {
				require.Empty(t, r.request(invented(i), f, 1))
			}
			f.Priority = 200
			out := append(r.request(nodeB, f, 7), r.wait(collectTime)...)
			assert.Contains(t, out, "GRANT to 10.77.0.12 nonce 7")
		})
	}
}
