package members

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/vrrp"
)

const ms = time.Millisecond

// rig is one machine whose others are played by the test.
type rig struct {
	busy bool // what is to be passed on cannot be
	t    *testing.T
	m    *Machine
	now  time.Time
}

func newRig(t *testing.T, change func(*Config)) *rig {
	cfg := Config{
		Group: group, Address: nodeA, Node: "a", Session: 0xa, Preempt: true,
		RecoverHold: 5 * time.Second, Lease: 290 * ms,
	}
	if change != nil {
		change(&cfg)
	}
	return &rig{t: t, m: NewMachine(cfg), now: epoch}
}

// step gives an event and returns what the machine wants, shortly.
func (r *rig) step(ev Event) []string {
	r.t.Helper()
	var out []string
	for _, a := range r.m.Step(r.now, ev) {
		switch a := a.(type) {
		case Send:
			s := a.Message.Type.String()
			if a.Message.Type != Hello {
				s += fmt.Sprintf(" to %v nonce %d", a.Message.Transfer.To, a.Message.Transfer.Nonce)
			}
			out = append(out, s)
		case Confirm:
			out = append(out, fmt.Sprint("confirm ", a.ID))
		case Pass:
			if r.busy {
				return append(out, fmt.Sprintf("pass to %v", a.To))
			}
			return append(out, r.step(Passed{})...)
		case Release:
			out = append(out, fmt.Sprintf("release heard=%v", a.Heard))
		case Take:
			out = append(out, fmt.Sprintf("take from %v", a.From))
		}
	}
	if at, ok := r.m.Deadline(); ok {
		require.True(r.t, at.After(r.now) || !at.Before(r.now.Add(-time.Hour)), "deadline %v", at)
	}
	return out
}

// wait lets time pass, serving the timer, and returns what was wanted meanwhile, HELLOs left out.
func (r *rig) wait(d time.Duration) []string {
	r.t.Helper()
	end := r.now.Add(d)
	var out []string
	for range 10000 {
		at, ok := r.m.Deadline()
		if !ok || at.After(end) {
			r.now = end
			return out
		}
		require.False(r.t, at.Before(r.now), "the deadline stays in the past")
		r.now = at
		for _, s := range r.step(Expired{}) {
			if s != "HELLO" {
				out = append(out, s)
			}
		}
	}
	require.Fail(r.t, "the timer spins")
	return nil
}

func without(list []string, s string) (out []string) {
	for _, o := range list {
		if o != s {
			out = append(out, o)
		}
	}
	return out
}

func (r *rig) self(s vrrp.State, fit bool) []string {
	r.t.Helper()
	p := uint8(100)
	if !fit {
		p = 1
	}
	return without(r.step(SetSelf{Self: Self{State: s, Base: 100, Priority: p, Fit: fit}}), "HELLO")
}

func other(s vrrp.State, fit bool) PeerState {
	f := PeerState{Self: Self{State: s, Base: 100, Priority: 100, Fit: fit}, Group: group, Epoch: 3, Proven: true, Lifetime: lifetime(DefaultEvery)}
	if !fit {
		f.Priority = 1
	}
	return f
}

func (r *rig) hello(from netip.Addr, f PeerState) []string {
	r.t.Helper()
	return without(r.step(Received{Source: from, Message: Message{Type: Hello, Session: 0xb, Peer: f}}), "HELLO")
}

func (r *rig) request(from netip.Addr, f PeerState, nonce uint64) []string {
	r.t.Helper()
	d := Transfer{To: nodeA, Session: 0xa, Epoch: r.m.known.own.epoch, Nonce: nonce}
	return without(r.step(Received{Source: from, Message: Message{Type: Request, Session: 0xb, Peer: f, Transfer: d}}), "HELLO")
}

func (r *rig) grant(from netip.Addr, nonce uint64) []string {
	r.t.Helper()
	d := Transfer{To: nodeA, Session: 0xa, Epoch: 3, Nonce: nonce}
	return without(r.step(Received{Source: from, Message: Message{Type: Grant, Session: 0xb, Peer: other(vrrp.Backup, false), Transfer: d}}), "HELLO")
}

func TestMachineSaysHelloOnChangeTwiceMoreAndEachSecond(t *testing.T) {
	r := newRig(t, nil)
	_, ok := r.m.Deadline()
	assert.False(t, ok, "nothing to say yet")
	assert.Equal(t, []string{"HELLO"}, r.step(SetSelf{Self: Self{State: vrrp.Backup, Priority: 100, Fit: true}}))
	assert.Empty(t, r.step(SetSelf{Self: Self{State: vrrp.Backup, Priority: 100, Fit: true}}), "no change")
	var at []time.Duration
	for range 4 {
		next, ok := r.m.Deadline()
		require.True(t, ok)
		r.now = next
		assert.Equal(t, []string{"HELLO"}, r.step(Expired{}))
		at = append(at, next.Sub(epoch))
	}
	assert.Equal(t, []time.Duration{20 * ms, 60 * ms, 1060 * ms, 2060 * ms}, at)
}

func TestMachineAnswersANewcomerSoon(t *testing.T) {
	r := newRig(t, nil)
	r.self(vrrp.Backup, true)
	r.wait(500 * ms)
	r.hello(nodeB, other(vrrp.Active, true))
	next, _ := r.m.Deadline()
	assert.Equal(t, 520*ms, next.Sub(epoch))
}

func TestMachineKnowsMembers(t *testing.T) {
	r := newRig(t, nil)
	r.self(vrrp.Backup, true)
	r.hello(nodeC, other(vrrp.Backup, true))
	r.hello(nodeB, other(vrrp.Active, true))
	foreign := other(vrrp.Backup, true)
	foreign.Group = nodeC
	r.hello(netip.MustParseAddr("10.77.0.99"), foreign)
	r.hello(nodeA, other(vrrp.Active, false))
	list := r.m.Members(nil, r.now)
	require.Len(t, list, 2, "neither of another group nor ourselves")
	assert.Equal(t, []netip.Addr{nodeB, nodeC}, []netip.Addr{list[0].Address, list[1].Address})
	r.wait(3 * time.Second)
	r.hello(nodeC, other(vrrp.Backup, true))
	r.wait(600 * ms)
	assert.Len(t, r.m.Members(nil, r.now), 1, "silent for longer than it said")
	bye := other(vrrp.Initialize, false)
	bye.Lifetime = 0
	r.hello(nodeC, bye)
	assert.Empty(t, r.m.Members(nil, r.now))
}

func TestMachineTableIsBounded(t *testing.T) {
	r := newRig(t, nil)
	r.self(vrrp.Backup, true)
	for i := range 300 {
		r.hello(netip.AddrFrom4([4]byte{10, 78, byte(i >> 8), byte(i)}), other(vrrp.Backup, true))
	}
	assert.Len(t, r.m.Members(nil, r.now), maxMembers)
}

func TestMachineRequesterAsksAnUnfitHolder(t *testing.T) {
	r := newRig(t, nil)
	r.self(vrrp.Backup, true)
	assert.Empty(t, r.hello(nodeB, other(vrrp.Active, true)))
	assert.False(t, r.m.Defers(r.now, nodeB))
	assert.Equal(t, []string{"confirm 1"}, r.hello(nodeB, other(vrrp.Active, false)))
	assert.True(t, r.m.Defers(r.now, nodeB))
	assert.False(t, r.m.Defers(r.now, nodeC))
	assert.Empty(t, r.hello(nodeB, other(vrrp.Active, false)), "a repeated HELLO")
	r.now = r.now.Add(5 * ms)
	assert.Equal(t, []string{"REQUEST to 10.77.0.12 nonce 2"}, r.step(Confirmed{ID: 1, Fit: true}))
	assert.Equal(t, []string{"REQUEST to 10.77.0.12 nonce 3"}, r.wait(30*ms))
	assert.Empty(t, r.grant(nodeB, 9), "not asked for")
	assert.Empty(t, r.grant(nodeC, 2), "not its to give")
	assert.Equal(t, []string{"take from 10.77.0.12"}, r.grant(nodeB, 2))
	assert.Empty(t, r.grant(nodeB, 2), "again")
	assert.Empty(t, r.self(vrrp.Active, true))
	assert.Empty(t, r.wait(10*time.Second))
}

// A GRANT of what was asked for before the node was Active must not be taken for one of what it asks for now.
func TestMachineRequesterUsesNoNumberTwice(t *testing.T) {
	r := newRig(t, nil)
	for first := 1; first < 9; first += 2 {
		list := append(r.self(vrrp.Backup, true), r.hello(nodeB, other(vrrp.Active, false))...)
		list = append(list, r.step(Confirmed{ID: uint64(first), Fit: true})...)
		assert.Equal(t, []string{fmt.Sprint("confirm ", first), fmt.Sprint("REQUEST to 10.77.0.12 nonce ", first+1)}, without(list, "HELLO"))
		r.self(vrrp.Active, true)
	}
}

// The holder has said that it is Backup now, but its GRANT was lost.
func TestMachineRequesterGoesOnAskingOneThatHasGranted(t *testing.T) {
	r := newRig(t, nil)
	r.self(vrrp.Backup, true)
	r.hello(nodeB, other(vrrp.Active, false))
	r.step(Confirmed{ID: 1, Fit: true})
	assert.Empty(t, r.hello(nodeB, other(vrrp.Backup, false)))
	assert.Equal(t, []string{"REQUEST to 10.77.0.12 nonce 3"}, r.wait(30*ms))
	assert.Equal(t, []string{"take from 10.77.0.12"}, r.grant(nodeB, 3))
}

func TestMachineRequesterStopsWhenAnotherIsActive(t *testing.T) {
	r := newRig(t, nil)
	r.self(vrrp.Backup, true)
	r.hello(nodeB, other(vrrp.Active, false))
	r.step(Confirmed{ID: 1, Fit: true})
	r.hello(nodeB, other(vrrp.Backup, false))
	r.hello(nodeC, other(vrrp.Active, true))
	assert.Empty(t, r.wait(time.Second))
}

func TestMachineRequesterRefusesAGrantOfAnotherTransfer(t *testing.T) {
	good := Message{Type: Grant, Session: 0xb, Peer: other(vrrp.Backup, false), Transfer: Transfer{To: nodeA, Session: 0xa, Epoch: 3, Nonce: 2}}
	for name, change := range map[string]func(*Message){
		"ours":                  func(*Message) {},
		"to our former session": func(m *Message) { m.Transfer.Session = 0x9 },
		"of another session":    func(m *Message) { m.Session = 0xc },
		"of another epoch":      func(m *Message) { m.Transfer.Epoch = 2 },
		"of another nonce":      func(m *Message) { m.Transfer.Nonce = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			r.self(vrrp.Backup, true)
			r.hello(nodeB, other(vrrp.Active, false))
			r.step(Confirmed{ID: 1, Fit: true})
			m := good
			change(&m)
			assert.Equal(t, name == "ours", len(without(r.step(Received{Source: nodeB, Message: m}), "HELLO")) > 0)
		})
	}
}

func TestMachineRequesterRefusesALateGrant(t *testing.T) {
	r := newRig(t, nil)
	r.self(vrrp.Backup, true)
	r.hello(nodeB, other(vrrp.Active, false))
	r.step(Confirmed{ID: 1, Fit: true})
	r.now = r.now.Add(290 * ms / 3)
	assert.NotContains(t, r.grant(nodeB, 2), "take from 10.77.0.12")
}

func TestMachineRequesterAsksOnlyWhenTheProbePasses(t *testing.T) {
	r := newRig(t, nil)
	r.self(vrrp.Backup, true)
	require.Equal(t, []string{"confirm 1"}, r.hello(nodeB, other(vrrp.Active, false)))
	assert.Empty(t, r.step(Confirmed{ID: 7, Fit: true}), "the answer to nothing")
	assert.Empty(t, r.step(Confirmed{ID: 1, Fit: false}))
	assert.True(t, r.m.Defers(r.now, nodeB), "a node that is no better does not take over")
	assert.Equal(t, []string{"confirm 2"}, r.wait(260*ms), "and looks again")
	assert.Empty(t, r.wait(2100*ms), "no answer")
	r.hello(nodeB, other(vrrp.Active, false))
	assert.Equal(t, []string{"confirm 3"}, r.wait(200*ms))
	r.self(vrrp.Backup, false)
	assert.Empty(t, r.step(Confirmed{ID: 3, Fit: true}), "unfit meanwhile")
}

func TestMachineRequesterGivesUpOnAHolderThatDoesNotAnswer(t *testing.T) {
	r := newRig(t, nil)
	r.self(vrrp.Backup, true)
	r.hello(nodeB, other(vrrp.Active, false))
	r.step(Confirmed{ID: 1, Fit: true})
	assert.Len(t, r.wait(490*ms), len(retries)-1, "and one at once")
	assert.True(t, r.m.Defers(r.now, nodeB))
	assert.Empty(t, r.wait(20*ms))
	assert.False(t, r.m.Defers(r.now, nodeB), "now VRRP decides")
	for range 5 {
		assert.Empty(t, r.wait(800*ms))
		r.hello(nodeB, other(vrrp.Active, false))
	}
	assert.NotEmpty(t, r.wait(time.Second), "another try")
	again := other(vrrp.Active, false)
	again.Epoch++
	r.hello(nodeB, again)
	assert.True(t, r.m.Defers(r.now, nodeB), "another epoch is another matter")
}

// A fit holder serves its clients, so a node of higher priority is in no hurry. Plain VRRP would take the address from a holder that is only slow, and
// both would answer until that holder has heard it.
func TestMachineRequesterAsksAFitHolderForLongerThanAnUnfitOne(t *testing.T) {
	r := newRig(t, nil)
	r.step(SetSelf{Self: Self{State: vrrp.Backup, Priority: 150, Fit: true}})
	r.hello(nodeB, other(vrrp.Active, true))
	r.step(Confirmed{ID: 1, Fit: true})
	asked := 0
	for range 6 {
		asked += len(r.wait(800 * ms))
		r.hello(nodeB, other(vrrp.Active, true))
		assert.True(t, r.m.Defers(r.now, nodeB), "after %v", r.now.Sub(epoch))
	}
	assert.Greater(t, asked, 80, "twice in a third of the lease, for which a GRANT may be taken")
	r.wait(500 * ms)
	assert.False(t, r.m.Defers(r.now, nodeB), "now VRRP decides: a holder that hears no REQUEST would keep the address for ever")
}

// The last of many REQUESTs is as good as the first.
func TestMachineRequesterTakesTheGrantOfASlowHolder(t *testing.T) {
	r := newRig(t, nil)
	r.step(SetSelf{Self: Self{State: vrrp.Backup, Priority: 150, Fit: true}})
	r.hello(nodeB, other(vrrp.Active, true))
	r.step(Confirmed{ID: 1, Fit: true})
	did := r.wait(2*time.Second + 40*ms)
	var nonce uint64
	_, err := fmt.Sscanf(did[len(did)-1], "REQUEST to "+nodeB.String()+" nonce %d", &nonce)
	require.NoError(t, err, "%q", did)
	assert.Equal(t, []string{"take from " + nodeB.String()}, r.grant(nodeB, nonce))
}

func TestMachineWhoAsksWhom(t *testing.T) {
	higher := func(f PeerState) PeerState { f.Base, f.Priority = 200, 200; return f }
	reserved := func(f PeerState, to netip.Addr) PeerState { f.For = to; return f }
	for _, tt := range []struct {
		name   string
		change func(*Config)
		self   Self
		holder PeerState
		wait   time.Duration
		want   bool
	}{
		{"an equal and a fit holder", nil, Self{State: vrrp.Backup, Priority: 100, Fit: true}, other(vrrp.Active, true), time.Minute, false},
		{"unfit and an unfit holder", nil, Self{State: vrrp.Backup, Priority: 1}, other(vrrp.Active, false), time.Minute, false},
		{"fit and an unfit holder", nil, Self{State: vrrp.Backup, Priority: 100, Fit: true}, other(vrrp.Active, false), 0, true},
		{"fit and an unfit Backup", nil, Self{State: vrrp.Backup, Priority: 100, Fit: true}, other(vrrp.Backup, false), time.Minute, false},
		{"kept out", nil, Self{State: vrrp.Initialize, Priority: 100, Fit: true}, other(vrrp.Active, false), time.Minute, false},
		{"higher priority", nil, Self{State: vrrp.Backup, Priority: 150, Fit: true}, other(vrrp.Active, true), 0, true},
		{"higher priority, but unfit", nil, Self{State: vrrp.Backup, Priority: 150}, other(vrrp.Active, true), time.Minute, false},
		{"lower priority", nil, Self{State: vrrp.Backup, Priority: 150, Fit: true}, higher(other(vrrp.Active, true)), time.Minute, false},
		{"higher priority without preemption", func(c *Config) { c.Preempt = false }, Self{State: vrrp.Backup, Priority: 150, Fit: true}, other(vrrp.Active, true), time.Minute, false},
		{"an unfit holder without preemption", func(c *Config) { c.Preempt = false }, Self{State: vrrp.Backup, Priority: 100, Fit: true}, other(vrrp.Active, false), 0, true},
		{"higher priority within preemptDelay", func(c *Config) { c.PreemptDelay = 5 * time.Second }, Self{State: vrrp.Backup, Priority: 150, Fit: true}, other(vrrp.Active, true), 4 * time.Second, false},
		{"higher priority after preemptDelay", func(c *Config) { c.PreemptDelay = 5 * time.Second }, Self{State: vrrp.Backup, Priority: 150, Fit: true}, other(vrrp.Active, true), 6 * time.Second, true},
		{"reserved for us", nil, Self{State: vrrp.Backup, Priority: 100, Fit: true}, reserved(other(vrrp.Active, false), nodeA), 0, true},
		{"reserved for another", nil, Self{State: vrrp.Backup, Priority: 100, Fit: true}, reserved(other(vrrp.Active, false), nodeC), time.Minute, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, tt.change)
			r.step(SetSelf{Self: tt.self})
			did := r.hello(nodeB, tt.holder)
			for at := time.Duration(0); at < tt.wait; at += time.Second {
				did = append(did, r.wait(time.Second)...)
				did = append(did, r.hello(nodeB, tt.holder)...)
			}
			assert.Equal(t, tt.want, len(did) > 0, "%v", did)
		})
	}
}

func TestMachineReservedForAnotherIsDeferredToOnlyAWhile(t *testing.T) {
	r := newRig(t, nil)
	r.self(vrrp.Backup, true)
	f := other(vrrp.Active, false)
	f.For = nodeC
	r.hello(nodeB, f)
	assert.True(t, r.m.Defers(r.now, nodeB))
	r.wait(1100 * ms)
	assert.False(t, r.m.Defers(r.now, nodeB))
}

func TestMachineWaitsAfterAOutageInWhichAllWereIll(t *testing.T) {
	r := newRig(t, nil)
	r.self(vrrp.Backup, false)
	r.hello(nodeB, other(vrrp.Active, false))
	r.wait(2 * time.Second)
	assert.Empty(t, r.self(vrrp.Backup, true))
	assert.True(t, r.m.Defers(r.now, nodeB))
	for range 4 {
		r.hello(nodeB, other(vrrp.Active, false))
		assert.Empty(t, r.wait(time.Second))
	}
	r.hello(nodeB, other(vrrp.Active, false))
	assert.Equal(t, []string{"confirm 1"}, r.wait(1010*ms))
}

// A cluster that comes up: nobody was fit before.
func TestMachineDoesNotWaitForTheFirstThatIsFit(t *testing.T) {
	r := newRig(t, nil)
	f := other(vrrp.Active, false)
	f.Proven = false
	r.self(vrrp.Backup, false)
	r.hello(nodeB, f)
	r.wait(2 * time.Second)
	assert.Equal(t, []string{"confirm 1"}, r.self(vrrp.Backup, true))
}

// The holder recovers last, but within recoverHold of the first: nothing moves.
func TestMachineAllRecover(t *testing.T) {
	r := newRig(t, nil)
	r.self(vrrp.Backup, false)
	r.hello(nodeB, other(vrrp.Active, false))
	r.hello(nodeC, other(vrrp.Backup, false))
	r.wait(2 * time.Second)
	r.hello(nodeC, other(vrrp.Backup, true)) // the first
	r.wait(2 * time.Second)
	r.hello(nodeB, other(vrrp.Active, false))
	assert.Empty(t, r.self(vrrp.Backup, true), "the second waits for the same time")
	assert.Empty(t, r.wait(2900*ms))
	assert.Empty(t, r.hello(nodeB, other(vrrp.Active, true)))
	assert.Empty(t, r.wait(3*time.Second))
}

func TestMachineHolderChooses(t *testing.T) {
	r := newRig(t, nil)
	r.self(vrrp.Active, false)
	low, high := other(vrrp.Backup, true), other(vrrp.Backup, true)
	high.Base, high.Priority = 150, 150
	r.hello(nodeB, high)
	r.hello(nodeC, low)
	assert.Empty(t, r.request(nodeC, low, 5), "B may ask too")
	assert.Equal(t, []string{"GRANT to 10.77.0.12 nonce 6"}, r.request(nodeB, high, 6), "all have asked")
}

// One of higher priority would take the address from whoever has it, as soon as it may preempt.
func TestMachineHolderWaitsLongerForAHigherPriority(t *testing.T) {
	low, high := other(vrrp.Backup, true), other(vrrp.Backup, true)
	high.Base, high.Priority = 150, 150
	asked := func(t *testing.T) *rig {
		r := newRig(t, nil)
		r.self(vrrp.Active, false)
		r.hello(nodeB, high)
		r.hello(nodeC, low)
		r.hello(netip.MustParseAddr("10.77.0.14"), low)
		assert.Empty(t, r.request(nodeC, low, 5))
		assert.Empty(t, r.wait(collectTime+ms), "B may ask too")
		return r
	}
	t.Run("it asks", func(t *testing.T) {
		assert.Equal(t, []string{"GRANT to 10.77.0.12 nonce 6"}, asked(t).request(nodeB, high, 6), "the third has lower priority")
	})
	t.Run("it does not ask", func(t *testing.T) {
		r := asked(t)
		assert.Equal(t, []string{"GRANT to 10.77.0.13 nonce 5"}, r.wait(grantWithin(290*ms)/4-collectTime))
	})
}

func TestMachineHolderChoosesTheHigherAddressAmongEquals(t *testing.T) {
	r := newRig(t, nil)
	r.self(vrrp.Active, false)
	f := other(vrrp.Backup, true)
	for _, n := range []netip.Addr{nodeB, nodeC} {
		r.hello(n, f)
	}
	r.hello(netip.MustParseAddr("10.77.0.14"), f)
	assert.Empty(t, r.request(nodeC, f, 5))
	assert.Empty(t, r.request(nodeB, f, 6))
	assert.Equal(t, []string{"GRANT to 10.77.0.13 nonce 5"}, r.wait(10*ms), "the third does not ask")
}

// Preempt_Mode is that of the node that takes over (RFC 9568 section 6.4.2): an Active yields whatever its own is (section 6.4.3).
func TestMachineHolderGrantsToAHigherPriorityWithoutPreemption(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Preempt = false })
	r.self(vrrp.Active, true)
	high := other(vrrp.Backup, true)
	high.Base, high.Priority = 150, 150
	r.hello(nodeB, high)
	assert.Equal(t, []string{"GRANT to 10.77.0.12 nonce 6"}, r.request(nodeB, high, 6))
}

func TestMachineHolderRefuses(t *testing.T) {
	f := other(vrrp.Backup, true)
	higher := f
	higher.Priority = 150
	for _, tt := range []struct {
		name string
		self Self
		give func(*Message)
		want bool
	}{
		{"unfit, an equal asks", Self{State: vrrp.Active, Priority: 1}, nil, true},
		{"fit, an equal asks", Self{State: vrrp.Active, Priority: 100, Fit: true}, nil, false},
		{"fit, a higher priority asks", Self{State: vrrp.Active, Priority: 100, Fit: true}, func(m *Message) { m.Peer = higher }, true},
		{"an unfit one asks", Self{State: vrrp.Active, Priority: 1}, func(m *Message) { m.Peer.Fit = false }, false},
		{"reserved for it", Self{State: vrrp.Active, Priority: 1, For: nodeB}, nil, true},
		{"reserved for another", Self{State: vrrp.Active, Priority: 1, For: nodeC}, nil, false},
		{"not the holder", Self{State: vrrp.Backup, Priority: 1}, nil, false},
		{"of an earlier session", Self{State: vrrp.Active, Priority: 1}, func(m *Message) { m.Transfer.Session++ }, false},
		{"of another epoch", Self{State: vrrp.Active, Priority: 1}, func(m *Message) { m.Transfer.Epoch++ }, false},
		{"of another node", Self{State: vrrp.Active, Priority: 1}, func(m *Message) { m.Transfer.To = nodeC }, false},
		{"of another group", Self{State: vrrp.Active, Priority: 1}, func(m *Message) { m.Peer.Group = nodeC }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, nil)
			r.step(SetSelf{Self: tt.self})
			m := Message{Type: Request, Session: 0xb, Peer: f, Transfer: Transfer{To: nodeA, Session: 0xa, Epoch: r.m.known.own.epoch, Nonce: 1}}
			if tt.give != nil {
				tt.give(&m)
			}
			did := without(r.step(Received{Source: nodeB, Message: m}), "HELLO")
			did = append(did, r.wait(20*ms)...)
			assert.Equal(t, tt.want, len(did) > 0, "%v", did)
		})
	}
}

func TestMachineHolderRecoversBeforeItHasChosen(t *testing.T) {
	r := newRig(t, nil)
	r.self(vrrp.Active, false)
	r.hello(nodeC, other(vrrp.Backup, true))
	assert.Empty(t, r.request(nodeB, other(vrrp.Backup, true), 1))
	assert.Empty(t, r.self(vrrp.Active, true))
	assert.Empty(t, r.wait(time.Second))
}

func passing(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, nil)
	r.self(vrrp.Active, false)
	require.Equal(t, []string{"GRANT to 10.77.0.12 nonce 1"}, r.request(nodeB, other(vrrp.Backup, true), 1))
	return r
}

func TestMachineReleasesWhenTheRequesterIsHeard(t *testing.T) {
	r := passing(t)
	assert.Empty(t, r.hello(nodeC, other(vrrp.Active, true)), "somebody else")
	assert.Empty(t, r.hello(nodeB, other(vrrp.Backup, true)), "not yet")
	assert.Equal(t, []string{"release heard=true"}, r.hello(nodeB, other(vrrp.Active, true)))
	assert.Empty(t, r.hello(nodeB, other(vrrp.Active, true)))
	assert.Empty(t, r.wait(time.Second))
}

func TestMachineReleasesInTheEnd(t *testing.T) {
	r := passing(t)
	assert.Empty(t, r.wait(299*ms))
	assert.Equal(t, []string{"release heard=false"}, r.wait(ms))
	assert.Empty(t, r.wait(time.Second))
}

func TestMachineTakenBackIsNotReleased(t *testing.T) {
	r := passing(t)
	r.wait(100 * ms)
	r.self(vrrp.Active, false)
	assert.Empty(t, r.wait(time.Second))
	assert.Empty(t, without(r.step(Received{Source: nodeB, Message: Message{
		Type: Request, Session: 0xb, Peer: other(vrrp.Backup, true), Transfer: Transfer{To: nodeA, Session: 0xa, Epoch: 1, Nonce: 2},
	}}), "HELLO"), "asked of the epoch before")
}

func TestMachineRepeatsALostGrantWithinTheLease(t *testing.T) {
	r := passing(t)
	r.now = r.now.Add(20 * ms)
	assert.Equal(t, []string{"GRANT to 10.77.0.12 nonce 2"}, r.request(nodeB, other(vrrp.Backup, true), 2))
	assert.Empty(t, r.request(nodeC, other(vrrp.Backup, true), 3), "it is another's now")
	r.now = r.now.Add(80 * ms)
	assert.Empty(t, r.request(nodeB, other(vrrp.Backup, true), 4), "too late")
}

func TestMachineLetsAnotherRequesterGoFirst(t *testing.T) {
	r := newRig(t, nil)
	r.self(vrrp.Backup, true)
	r.hello(nodeB, other(vrrp.Active, false))
	r.step(Confirmed{ID: 1, Fit: true})
	d := Transfer{To: nodeC, Session: 1, Epoch: 3, Nonce: 1}
	f := other(vrrp.Backup, false)
	r.step(Received{Source: nodeB, Message: Message{Type: Grant, Session: 0xb, Peer: f, Transfer: d}})
	assert.Empty(t, r.wait(900*ms))
	f = other(vrrp.Active, false)
	f.Epoch = 4
	assert.Empty(t, r.hello(nodeB, f), "taken back")
	assert.True(t, r.m.Defers(r.now, nodeB))
	assert.Equal(t, []string{"confirm 3"}, r.wait(110*ms))
}

func TestMachinePassive(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Passive = true })
	r.self(vrrp.Backup, true)
	assert.Empty(t, r.hello(nodeB, other(vrrp.Active, false)))
	assert.False(t, r.m.Defers(r.now, nodeB))
	assert.Len(t, r.m.Members(nil, r.now), 1)
	r.self(vrrp.Active, false)
	assert.Empty(t, r.request(nodeB, other(vrrp.Backup, true), 1))
	assert.Empty(t, r.wait(time.Second))
	assert.False(t, r.m.Successors(r.now))
}

func TestMachineLeave(t *testing.T) {
	r := newRig(t, nil)
	r.self(vrrp.Active, true)
	actions := r.m.Step(r.now, Leave{})
	require.Len(t, actions, 1)
	f := actions[0].(Send).Message.Peer
	assert.Zero(t, f.Lifetime)
	assert.Equal(t, vrrp.Initialize, f.State)
	_, ok := r.m.Deadline()
	assert.False(t, ok)
	assert.Empty(t, r.self(vrrp.Backup, true))
}

func TestMachineSuccessors(t *testing.T) {
	r := newRig(t, nil)
	r.self(vrrp.Active, false)
	r.hello(nodeB, other(vrrp.Backup, false))
	assert.False(t, r.m.Successors(r.now))
	r.hello(nodeB, other(vrrp.Backup, true))
	assert.True(t, r.m.Successors(r.now))
	r.step(SetSelf{Self: Self{State: vrrp.Active, For: nodeC}})
	assert.False(t, r.m.Successors(r.now))
}

func TestMachineReconfigure(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Preempt = false })
	r.step(SetSelf{Self: Self{State: vrrp.Backup, Priority: 150, Fit: true}})
	assert.Empty(t, r.hello(nodeB, other(vrrp.Active, true)))
	assert.Equal(t, []string{"confirm 1"}, r.step(Reconfigure{Config{Preempt: true, Lease: 290 * ms}}))
	assert.Equal(t, nodeA, r.m.known.own.cfg.Address)
}

// Another first address is another group: the old one is left, as by a node that stops, and nobody of the new one is known yet.
func TestMachineReconfigureToAnotherGroup(t *testing.T) {
	r := newRig(t, nil)
	r.self(vrrp.Backup, true)
	r.hello(nodeB, other(vrrp.Backup, true))
	require.Len(t, r.m.Members(nil, r.now), 1)
	next := netip.MustParseAddr("10.77.0.200")
	var said []Message
	for _, a := range r.m.Step(r.now, Reconfigure{Config{Group: next, Lease: 290 * ms}}) {
		said = append(said, a.(Send).Message)
	}
	require.Len(t, said, 2)
	assert.Equal(t, group, said[0].Peer.Group)
	assert.Zero(t, said[0].Peer.Lifetime, "the last word")
	assert.Equal(t, next, said[1].Peer.Group)
	assert.NotZero(t, said[1].Peer.Lifetime)
	assert.Empty(t, r.m.Members(nil, r.now))
	assert.Empty(t, r.hello(nodeB, other(vrrp.Backup, true)), "of the old group")
	assert.Empty(t, r.m.Members(nil, r.now))
}

func TestMachineGoesOnAsTheHolderOfWhatCannotBePassedOn(t *testing.T) {
	r := newRig(t, nil)
	r.self(vrrp.Active, false)
	r.hello(nodeB, other(vrrp.Backup, true))
	r.busy = true
	require.Equal(t, []string{"pass to 10.77.0.12"}, r.request(nodeB, other(vrrp.Backup, true), 5))
	assert.Empty(t, r.wait(time.Second), "nothing to release")
	r.busy = false
	assert.Equal(t, []string{"GRANT to 10.77.0.12 nonce 6"}, r.request(nodeB, other(vrrp.Backup, true), 6), "of the same epoch")
	r.self(vrrp.Backup, false)
	r.hello(nodeB, other(vrrp.Active, true))
	assert.Empty(t, r.step(Passed{}), "too late")
}
