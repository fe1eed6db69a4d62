package virtualrouter

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keepvip/keepvip/election"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/vrrp"
)

// link is a network of machines in virtual time, without goroutines: packets take up to a millisecond, timers are served late, hosts
// take their time, and a process may stand still between any two actions. Each node has a kernel that answers for the address as long
// as it is bound, discovery is not shut, and the lease of the last advertisement that left has not ended.
type link struct {
	t     *testing.T
	now   time.Time
	rng   *rand.Rand
	nodes []*station
	later []happening // by time
	calm  bool        // nothing goes wrong any more
	two   time.Time   // since when two nodes answer; zero: they do not
	trace []string
}

type happening struct {
	at time.Time
	do func()
}

// station is one node.
type station struct {
	l    *link
	self netip.Addr
	prio uint8
	none bool // no candidate

	m      *machine // nil: off
	life   int      // counts processes
	frozen time.Time
	inbox  arrived
	queue  []action // that are still to be carried out
	waits  bool     // apply is being carried out
	timer  int      // counts the timer's settings
	served []time.Time
	fit    election.Fitness

	heard       map[netip.Addr]time.Time // when the newest advertisement left that has arrived here and is no worse than what this node would say
	bound, shut bool
	preempts    bool // it took the address by plain VRRP from one of lower priority, which it did not know yet
	lease       time.Time
}

const linkInterval = 100 * time.Millisecond

func newLink(t *testing.T, seed uint64, priorities ...uint8) *link {
	l := &link{t: t, now: time.Unix(1_700_000_000, 0), rng: rand.New(rand.NewPCG(seed, 1))}
	for i, p := range priorities {
		l.nodes = append(l.nodes, &station{l: l, self: netip.AddrFrom4([4]byte{10, 77, 0, byte(11 + i)}), prio: p})
	}
	return l
}

func (l *link) after(d time.Duration, do func()) {
	h := happening{l.now.Add(d), do}
	i, _ := slices.BinarySearchFunc(l.later, h, func(a, b happening) int { return cmp.Or(a.at.Compare(b.at), -1) })
	l.later = slices.Insert(l.later, i, h)
}

func (l *link) upTo(d time.Duration) time.Duration { return time.Duration(l.rng.Int64N(int64(d) + 1)) }

func (l *link) run(d time.Duration) {
	for end := l.now.Add(d); ; {
		if len(l.later) == 0 || l.later[0].at.After(end) {
			l.now = end
			return
		}
		next := l.later[0]
		l.later = l.later[1:]
		l.now = next.at
		next.do()
		l.check()
	}
}

func (l *link) note(format string, args ...any) {
	l.trace = append(l.trace, fmt.Sprintf("%9.3f ms  ", l.now.Sub(time.Unix(1_700_000_000, 0)).Seconds()*1000)+fmt.Sprintf(format, args...))
}

func (s *station) answers() bool { return s.bound && !s.shut && s.l.now.Before(s.lease) }

func (l *link) answering() (out []string) {
	for _, s := range l.nodes {
		if s.answers() {
			out = append(out, s.self.String())
		}
	}
	return out
}

// crossTime is for how long two nodes may answer whose timers ended within the time of a packet, or of which one preempts the other by
// plain VRRP, before either knows: until an advertisement is there, and the host has followed.
const crossTime = 6 * time.Millisecond

func (l *link) check() {
	list := l.answering()
	switch {
	case len(list) < 2, slices.ContainsFunc(l.nodes, func(s *station) bool { return s.preempts && s.answers() }):
		l.two = time.Time{}
	case l.two.IsZero():
		l.two = l.now
		l.after(crossTime+1, func() {})
	case l.now.Sub(l.two) > crossTime:
		l.t.Fatalf("two nodes answer: %v\n%s", list, strings.Join(l.trace[max(0, len(l.trace)-60):], "\n"))
	}
}

func (s *station) start() {
	m, err := newMachine(Config{
		Router: vrrp.Config{
			Version: 3, VRID: 51, Priority: s.prio, Interval: linkInterval, Preempt: true, Source: s.self, Addresses: []netip.Addr{vip},
		},
		Members: &messageWire{}, AsMember: members.Config{
			Node: s.self.String(), Session: s.l.rng.Uint64(), RecoverHold: members.DefaultRecoverHold,
		},
		NoCandidate: s.none,
	})
	require.NoError(s.l.t, err)
	s.m, s.inbox, s.queue, s.waits, s.frozen, s.heard = m, arrived{}, nil, false, time.Time{}, map[netip.Addr]time.Time{}
	s.life++
	s.l.note("%s starts", s.self)
	s.step(begin{s.fit})
}

// crossing tells that two are Active whose packets cross. Of those neither may die or stand still, or it answers to the end of its
// lease: VRRP has nothing against that.
func (l *link) crossing() bool {
	active := 0
	for _, s := range l.nodes {
		if s.m != nil && s.m.state == election.Active {
			active++
		}
	}
	return active > 1
}

// kill leaves what the kernel has.
func (s *station) kill() {
	if s.l.crossing() {
		return
	}
	s.l.note("%s is killed", s.self)
	s.m = nil
	s.life++
}

func (s *station) freeze(d time.Duration) {
	if s.m == nil || s.l.calm || s.l.crossing() {
		return
	}
	s.l.note("%s is frozen for %v", s.self, d)
	until := s.l.now.Add(d)
	if until.Before(s.frozen) {
		return
	}
	s.frozen = until
	s.soon(d, s.goOn)
}

// soon does something in this life, but not while the process is frozen.
func (s *station) soon(d time.Duration, do func()) {
	life := s.life
	s.l.after(d, func() {
		switch {
		case s.life != life || s.m == nil:
		case s.l.now.Before(s.frozen):
			s.soon(s.frozen.Sub(s.l.now), do)
		default:
			do()
		}
	})
}

func (s *station) step(ev event) {
	s.queue = append(s.queue, s.m.Step(s.l.now, ev)...)
	s.goOn()
}

// goOn carries out actions until one has to be waited for. The process may stand still before any of them.
func (s *station) goOn() {
	for len(s.queue) > 0 && !s.waits {
		if s.l.rng.IntN(3000) == 0 {
			s.freeze(s.l.upTo(600 * time.Millisecond))
		}
		if s.l.now.Before(s.frozen) {
			return
		}
		a := s.queue[0]
		s.queue = s.queue[1:]
		if r, ok := s.carryOut(a); ok {
			s.queue = append(s.queue, s.m.Step(s.l.now, r)...)
		}
	}
	if s.waits || s.m.ended {
		return
	}
	if n := s.inbox; len(n.Messages)+len(n.Adverts) > 0 {
		s.step(s.take())
		return
	}
	s.arm()
}

func (s *station) take() arrived {
	a := s.inbox
	s.inbox = arrived{}
	return a
}

func (s *station) arm() {
	s.timer++
	n := s.timer
	wait := max(0, s.m.Deadline(s.l.now).Sub(s.l.now))
	s.soon(wait+s.l.upTo(300*time.Microsecond), func() {
		if s.timer == n && !s.waits && len(s.queue) == 0 {
			s.step(expired{arrived: s.take()})
			s.served = append(slices.DeleteFunc(s.served, func(at time.Time) bool { return s.l.now.Sub(at) > 2*time.Millisecond }), s.l.now)
			require.Less(s.l.t, len(s.served), 20, "the deadline stays in the past")
		}
	})
}

// idle tells that the process could take in what arrives now.
func (s *station) idle() bool {
	return s.m != nil && !s.m.ended && !s.waits && len(s.queue) == 0 && !s.l.now.Before(s.frozen)
}

func (s *station) carryOut(a action) (response, bool) {
	switch a := a.(type) {
	case advertise:
		if a.lease > 0 {
			s.lease = s.l.now.Add(a.lease)
		}
		s.l.note("%s advertises %d", s.self, a.Priority)
		sent := s.l.now
		s.toAll(func(o *station) {
			if a.Priority > 0 && a.Priority >= o.m.router.Snapshot().Priority {
				o.heard[s.self] = sent
			}
			o.inbox.Adverts = append(slices.DeleteFunc(o.inbox.Adverts, func(b Arrival) bool { return b.Source == s.self }),
				Arrival{Source: s.self, Advertisement: a.Advertisement, At: s.l.now})
		})
	case message:
		msg := a.Message
		msg.Peer.Claims = msg.Peer.Claims && s.l.now.Before(s.lease)
		if msg.Type != members.Hello {
			s.l.note("%s sends %v", s.self, msg.Type)
		}
		s.toAll(func(o *station) {
			o.inbox.Messages = append(o.inbox.Messages, members.Received{Source: s.self, Message: msg, At: s.l.now})
		})
	case endLease: // what the kernel has goes on: only the address is taken away
	case drain:
		return response{arrived: s.take()}, true
	case probe:
		s.soon(s.l.upTo(20*time.Millisecond), func() {
			s.inject(confirmed{members.Confirmed{ID: a.ID, Fit: s.fit.Less == 0}})
		})
	case apply:
		return response{}, s.apply(a)
	}
	return response{}, false
}

// inject gives an event as soon as the process can take it in.
func (s *station) inject(ev event) {
	if s.idle() {
		s.step(ev)
		return
	}
	s.soon(time.Millisecond, func() { s.inject(ev) })
}

// silent tells whether nobody who may hold the address was heard for three intervals.
func (s *station) silent(a apply) bool {
	for _, at := range s.heard {
		if a.At.Sub(at) < 3*linkInterval && !at.After(a.At) {
			return false
		}
	}
	return true
}

func (s *station) apply(a apply) bool {
	s.l.note("%s: role %d: %s", s.self, a.Role, a.Reason)
	if a.Role == election.Serve && a.Reason == string(vrrp.ReasonSilence) && s.l.now.Equal(a.At) {
		require.True(s.l.t, s.silent(a), "it takes over from a holder that was not silent\n%s", strings.Join(s.l.trace[max(0, len(s.l.trace)-40):], "\n"))
	}
	switch {
	case a.Rival:
		return false
	case a.Role == election.Off || a.Role == election.Standby:
		s.bound, s.shut = false, false
		return false
	}
	s.waits = true
	fails := !s.l.calm && s.l.rng.IntN(20) == 0
	s.soon(s.l.upTo(4*time.Millisecond), func() {
		s.waits = false
		var err error
		switch {
		case fails:
			err = errors.New("refused")
		case a.Role == election.Quiet:
			s.shut = true
		case s.l.now.Before(s.lease): // as the address service: a lease that is over forbids to bind
			s.preempts = a.Reason == string(vrrp.ReasonPreempt)
			s.bound, s.shut = true, false
		default:
			err = errors.New("the lease was over")
		}
		s.l.note("%s: role %d is carried out: %v", s.self, a.Role, err)
		s.queue = append(s.m.Step(s.l.now, response{err: err}), s.queue...)
		s.goOn()
	})
	return false
}

func (s *station) toAll(put func(*station)) {
	for _, o := range s.l.nodes {
		if o == s || o.m == nil {
			continue
		}
		life := o.life
		s.l.after(100*time.Microsecond+s.l.upTo(900*time.Microsecond), func() {
			if o.life != life || o.m == nil {
				return
			}
			put(o)
			if o.idle() {
				o.step(o.take())
			}
		})
	}
}

// fault does something to one of the nodes.
func (l *link) fault() {
	s := l.nodes[l.rng.IntN(len(l.nodes))]
	switch l.rng.IntN(6) {
	case 0:
		if s.m == nil || s.m.ended {
			s.start()
		} else {
			s.kill()
		}
	case 1:
		s.freeze(l.upTo(900 * time.Millisecond))
	case 2, 3:
		s.fit = election.Fitness{}
		if l.rng.IntN(2) == 0 {
			s.fit = unfit
		}
		l.note("%s gets the fitness -%d", s.self, s.fit.Less)
		if s.m != nil {
			s.inject(refit{s.fit})
		}
	case 4:
		l.note("%s is told to hand over", s.self)
		if s.m != nil {
			h := &handover{done: make(chan error, 1)}
			s.inject(want{h})
			s.soon(l.upTo(time.Second), func() { s.inject(abandon{h}) })
		}
	case 5:
		l.note("%s is told to stop", s.self)
		if s.m != nil {
			s.inject(stop{})
		}
	}
}

// However processes die, stand still and change their minds, at most one node answers; and when it is quiet one does. No node takes over by silence before it
// was silent for three intervals.
func TestMachinesOneAnswersAtMost(t *testing.T) {
	seeds := 30
	if n, err := strconv.Atoi(os.Getenv("MACHINE_SEEDS")); err == nil {
		seeds = n
	}
	for seed := range uint64(seeds) {
		priorities := [][]uint8{{100, 100, 100}, {100, 101, 102}, {100, 100, 100, 100, 100}, {100, 100}}[seed%4]
		l := newLink(t, seed, priorities...)
		for _, s := range l.nodes {
			l.after(l.upTo(2*time.Second), func() {
				if s.m == nil {
					s.start()
				}
			})
		}
		l.run(3 * time.Second)
		for range 60 {
			l.fault()
			l.run(l.upTo(700 * time.Millisecond))
		}
		l.calm = true
		for _, s := range l.nodes {
			s.fit = election.Fitness{}
			if s.m == nil || s.m.ended {
				s.start()
			} else {
				s.inject(refit{})
			}
		}
		l.run(10 * time.Second)
		assert.Len(t, l.answering(), 1, "seed %d, in the end\n%s", seed, strings.Join(l.trace[max(0, len(l.trace)-40):], "\n"))
		if t.Failed() {
			return
		}
	}
}

// Who has passed the address on is not the holder again because the one that took it comes last now: what the former holder advertised
// before outranks that, and is no word of this moment.
func TestMachinesFormerHolderIsNotTakenForTheHolder(t *testing.T) {
	for seed := range uint64(20) {
		l := newLink(t, seed, 100, 100, 100)
		l.calm = true
		for _, s := range l.nodes {
			s.start()
		}
		l.run(3 * time.Second)
		former := l.holder()
		require.NotNil(t, former, "seed %d", seed)
		former.inject(refit{unfit})
		l.run(30 * time.Millisecond)
		taker := l.holder()
		require.NotNil(t, taker, "seed %d", seed)
		require.NotEqual(t, former, taker, "seed %d", seed)
		for _, s := range l.nodes {
			s.inject(refit{unfit})
		}
		for range 200 {
			l.run(5 * time.Millisecond)
			for _, s := range l.nodes {
				require.Equal(t, taker.self, s.m.holder.address, "seed %d, in the eyes of %s\n%s", seed, s.self,
					strings.Join(l.trace[max(0, len(l.trace)-30):], "\n"))
			}
		}
	}
}

// holder is the node that is Active; nil if there is none.
func (l *link) holder() *station {
	for _, s := range l.nodes {
		if s.m != nil && s.m.state == election.Active {
			return s
		}
	}
	return nil
}
