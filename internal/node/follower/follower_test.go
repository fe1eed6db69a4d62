package follower

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/intercept"
	"github.com/keepvip/keepvip/internal/kernel/localconn"
	"github.com/keepvip/keepvip/internal/serve/localproxy"
	"github.com/keepvip/keepvip/members/envelope"
	"github.com/keepvip/keepvip/members/slots"
	"github.com/keepvip/keepvip/members/subscription"
)

var vip = netip.MustParseAddr("10.77.0.100")

func ownOf(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 77, 0, byte(10 + i)}) }

// other is the address of the other family.
func other(i int) netip.Addr {
	b := netip.MustParseAddr("fd77::10").As16()
	b[15] += byte(i)
	return netip.AddrFrom16(b)
}

// world guards what the fakes have. The test has it, but while it waits.
type world struct{ sync.Mutex }

// free lets others go on meanwhile.
func (w *world) free(do func()) {
	w.Unlock()
	defer w.Lock()
	do()
}

// journal is a log that can be read.
type journal struct {
	*world
	strings.Builder
}

// Write implements io.Writer.
func (l *journal) Write(b []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.Builder.Write(b)
}

// members are three members, as the only one that speaks sees them.
type members struct {
	*world
	pub     *subscription.Publisher
	in      chan subscription.Packet
	mute    bool
	expects []slots.Condition
	weights []uint8 // none: 1 each
	other   bool    // each has an address of the other family, too
	group   netip.Addr
}

func (m *members) Send(a subscription.Ask) error {
	m.Lock()
	defer m.Unlock()
	if a.To != vip && a.To != ownOf(1) || m.mute {
		return nil
	}
	from := netip.MustParseAddrPort("10.88.0.7:18")
	m.deliver(m.pub.Hear(time.Now(), subscription.Packet{Data: a.Data, From: from, To: a.To, TTL: 255}))
	m.tell()
	return nil
}

func (m *members) deliver(all []subscription.Outgoing) {
	for _, o := range all {
		select {
		case m.in <- subscription.Packet{Data: o.Data, TTL: 255}:
		default:
		}
	}
}

func (m *members) tell() {
	r := &subscription.Report{Every: 100 * time.Millisecond}
	for i, c := range m.expects {
		s := subscription.Member{
			Address: ownOf(i + 1), Node: "cp-" + string(rune('1'+i)), Self: i == 0, Weight: 1, Lifetime: 350 * time.Millisecond,
			Ports: []subscription.Port{{Protocol: 6, Port: 6443, Condition: c}},
		}
		if m.other {
			s.Other = other(i + 1)
		}
		if m.weights != nil {
			s.Weight = m.weights[i]
		}
		r.Members = append(r.Members, s)
	}
	if !m.mute {
		m.deliver(m.pub.Tell(time.Now(), m.group, r))
		m.deliver(m.pub.Expire(time.Now()))
	}
}

func (m *members) Packets() <-chan subscription.Packet { return m.in }
func (m *members) Close() error                        { return nil }

// kernel is a Host, a Plane and a localproxy.Listener.
type kernel struct {
	*world
	members *members
	targets []intercept.Target
	renewed time.Time
	dead    []netip.Addr
	forgot  []netip.AddrPort
	closed  bool
	left    bool
	fails   error
	keep    []string
	proxied []intercept.Backend
	applied int // how often
	// listens are the listeners that are open, with their fallback; taken is one that somebody else has.
	listening sync.Mutex
	listens   map[string][]netip.AddrPort
	taken     string
	// destroys is what ending connections ends with; tries is how often it was asked for.
	destroys error
	tries    int
	// open are the connections to members; uncounted is why nobody knows.
	open      map[netip.Addr]int
	uncounted error
	counts    int // how often it was asked
}

func (k *kernel) Client(uint16, bool) (client, error) { return k.members, nil }

func (k *kernel) Open(string) (plane, error) { return k, nil }
func (k *kernel) Listen(at string, fallback []netip.AddrPort) (localproxy.Listener, error) {
	k.listening.Lock()
	defer k.listening.Unlock()
	if _, open := k.listens[at]; open || at == k.taken {
		return nil, syscall.EADDRINUSE
	}
	if k.listens == nil {
		k.listens = map[string][]netip.AddrPort{}
	}
	k.listens[at] = fallback
	return &proxy{k, at}, nil
}

func (k *kernel) Cleanup(keep ...string) ([]string, error) {
	k.Lock()
	defer k.Unlock()
	k.keep = keep
	return nil, nil
}

func (k *kernel) Apply(c intercept.Config) error {
	k.Lock()
	defer k.Unlock()
	if k.fails == nil {
		k.targets = c.Targets
		k.applied++
	}
	return k.fails
}

func (k *kernel) Renew(time.Duration) error {
	k.Lock()
	defer k.Unlock()
	k.renewed = time.Now()
	return k.fails
}

func (k *kernel) Destroy(dead ...netip.Addr) (localconn.Ended, error) {
	k.Lock()
	defer k.Unlock()
	k.tries++
	if k.destroys != nil {
		return localconn.Ended{}, k.destroys
	}
	k.dead = append(k.dead, dead...)
	return localconn.Ended{Sockets: 1}, nil
}

func (k *kernel) Connections() (map[netip.Addr]int, error) {
	k.Lock()
	defer k.Unlock()
	k.counts++
	out := maps.Clone(k.open)
	if out == nil {
		out = map[netip.Addr]int{}
	}
	return out, k.uncounted
}

func (k *kernel) Forget(gone ...netip.AddrPort) error {
	k.Lock()
	defer k.Unlock()
	k.forgot = append(k.forgot, gone...)
	return nil
}
func (k *kernel) Leave()       { k.Lock(); defer k.Unlock(); k.left = true }
func (k *kernel) Close() error { k.Lock(); defer k.Unlock(); k.closed = true; return nil }

type proxy struct {
	k  *kernel
	at string
}

func (p *proxy) SetBackends(b []intercept.Backend) { p.k.Lock(); defer p.k.Unlock(); p.k.proxied = b }
func (p *proxy) Reset(...netip.Addr) int           { return 1 }
func (p *proxy) SetConnections(int)                {}
func (p *proxy) Stats() localproxy.Stats {
	return localproxy.Stats{ByBackend: map[netip.AddrPort]int{netip.AddrPortFrom(ownOf(1), 6443): 1}}
}

func (p *proxy) SetFallback(all []netip.AddrPort) {
	p.k.listening.Lock()
	defer p.k.listening.Unlock()
	p.k.listens[p.at] = all
}

func (p *proxy) Move(at string) error {
	p.k.listening.Lock()
	defer p.k.listening.Unlock()
	if at == p.k.taken {
		return syscall.EADDRINUSE
	}
	p.k.listens[at] = p.k.listens[p.at]
	delete(p.k.listens, p.at)
	p.at = at
	return nil
}

func (p *proxy) Close(context.Context) error {
	p.k.listening.Lock()
	defer p.k.listening.Unlock()
	delete(p.k.listens, p.at)
	return nil
}

func (k *kernel) used() (out []netip.Addr) {
	for _, b := range k.targets[0].Backends {
		out = append(out, b.At.Addr())
	}
	return out
}

// bench is a follower at work, in virtual time.
type bench struct {
	*follower
	*world
	t       *testing.T
	members *members
	kernel  *kernel
	refuses map[netip.Addr]error
	cancel  context.CancelFunc
	ended   chan error
	log     *journal
	before  *follower // that has left what it had to the next one
}

func entryOf() Entry {
	return Entry{Name: "apiserver", Addresses: []netip.Addr{vip}, Ports: []config.SpreadPort{{Protocol: config.ProtocolTCP, Port: 6443, Target: 6443}}}
}

func followingOf(dir, listen string, entries ...Entry) Following {
	whole := &config.Config{Port: 9646, StateDir: dir}
	whole.Follow.Listen = listen
	return Following{Whole: whole, Entries: entries}
}

func (b *bench) start(dir string, e Entry, stays bool) {
	b.log = &journal{world: b.world}
	var f *follower
	var err error
	b.free(func() {
		f, err = Process{
			Node: "w-1", Host: b.kernel, Log: slog.New(slog.NewTextHandler(b.log, nil)),
		}.open(followingOf(dir, "127.0.0.1:9443", e), b.before)
	})
	require.NoError(b.t, err)
	f.probes.dial = func(_ context.Context, to netip.AddrPort) error {
		b.Lock()
		defer b.Unlock()
		return b.refuses[to.Addr()]
	}
	b.follower, b.before = f, nil
	if stays {
		b.before = f
	}
	ctx, cancel := context.WithCancel(b.t.Context())
	b.cancel, b.ended = cancel, make(chan error, 1)
	go func() { b.ended <- f.Run(ctx, func() bool { return stays }) }()
}

func (b *bench) stop() {
	b.cancel()
	b.free(func() { require.NoError(b.t, <-b.ended) })
}

// run lets the members speak each 10 ms.
func (b *bench) run(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		b.members.tell()
		b.free(func() {
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()
		})
	}
}

func (b *bench) status(t *testing.T) (s Status) {
	t.Helper()
	b.free(func() {
		var err error
		s, err = b.Status()
		require.NoError(t, err)
	})
	return s
}

func inBubble(t *testing.T, test func(*testing.T, *bench)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		var seed uint64
		random := func() uint64 { seed += 0x9e3779b97f4a7c15; return seed }
		w := &world{}
		w.Lock()
		m := &members{world: w, group: vip, pub: subscription.NewPublisher(random), in: make(chan subscription.Packet, 100), expects: []slots.Condition{slots.Fit, slots.Fit, slots.Fit}}
		m.pub.SetKeys(subscription.Keys{Open: true})
		m.pub.Serve(vip)
		test(t, &bench{t: t, members: m, world: w, kernel: &kernel{world: w, members: m}, refuses: map[netip.Addr]error{}})
	})
}

func all() []netip.Addr { return []netip.Addr{ownOf(1), ownOf(2), ownOf(3)} }

func TestFollowerSendsConnectionsToFitMembers(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.start(t.TempDir(), entryOf(), false)
		b.run(time.Second)
		assert.Equal(t, all(), b.kernel.used())
		assert.Equal(t, []string{"apiserver"}, b.kernel.keep)
		assert.Equal(t, b.kernel.targets[0].Backends, b.kernel.proxied)

		b.members.expects[1] = slots.Keeps
		b.run(10 * time.Millisecond)
		assert.Equal(t, []netip.Addr{ownOf(1), ownOf(3)}, b.kernel.used(), "at once")
		assert.Equal(t, []netip.AddrPort{netip.AddrPortFrom(ownOf(2), 6443)}, b.kernel.forgot, "a port may be used again")
		assert.Empty(t, b.kernel.dead)

		b.members.expects[2] = slots.Dead
		b.run(10 * time.Millisecond)
		assert.Equal(t, []netip.Addr{ownOf(1)}, b.kernel.used())
		b.run(5 * time.Second)
		assert.Equal(t, []netip.Addr{ownOf(3)}, b.kernel.dead, "once")

		b.members.expects = []slots.Condition{slots.Keeps, slots.Keeps, slots.Keeps}
		b.run(20 * time.Millisecond)
		assert.Empty(t, b.kernel.used(), "the wire")
		s := b.status(t)
		assert.True(t, s.Follows[0].Ports[0].Wire)
		assert.Equal(t, "apiserver on the wire", s.line())

		b.members.expects = []slots.Condition{slots.Fit, slots.Fit, slots.Fit}
		b.run(20 * time.Second)
		assert.Equal(t, all(), b.kernel.used())
		assert.Less(t, time.Since(b.kernel.renewed), 2*renewEvery)
		s = b.status(t)
		assert.Equal(t, "apiserver over 3 of 3 members", s.line())
		assert.Equal(t, Share{Address: ownOf(1), Node: "cp-1", Weight: 1, Used: true, SentTo: []netip.Addr{ownOf(1)}}, s.Follows[0].Ports[0].Members[0])
		b.stop()
		assert.True(t, b.kernel.closed)
		assert.Empty(t, b.kernel.keep)
	})
}

func TestFollowersProbesVeto(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.start(t.TempDir(), entryOf(), false)
		b.refuses[ownOf(2)] = syscall.ECONNREFUSED
		b.run(time.Second)
		assert.Equal(t, []netip.Addr{ownOf(1), ownOf(3)}, b.kernel.used())
		b.refuses[ownOf(2)] = nil
		b.run(2 * probeFailed)
		assert.Equal(t, all(), b.kernel.used())

		b.refuses[ownOf(3)] = errors.New("no answer")
		b.members.expects[0] = slots.Keeps
		b.run(probeEvery + 2*probeFailed)
		assert.Equal(t, []netip.Addr{ownOf(2)}, b.kernel.used(), "a good probe makes nobody fit")
		b.stop()
	})
}

func TestFollowerGoesOnWhileNoMemberSaysAnything(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		dir := t.TempDir()
		b.start(dir, entryOf(), true)
		b.run(2 * probeEvery)
		b.members.mute = true
		b.refuses[ownOf(1)] = syscall.ECONNREFUSED
		b.run(2 * probeEvery)
		assert.Equal(t, []netip.Addr{ownOf(2), ownOf(3)}, b.kernel.used(), "those that are reached")
		assert.Contains(t, b.log.String(), "no member says anything any more")
		b.stop()
		assert.True(t, b.kernel.left)
		assert.False(t, b.kernel.closed, "another run goes on")

		b.refuses[ownOf(1)] = nil
		b.start(dir, entryOf(), false)
		b.run(time.Second)
		assert.Equal(t, all(), b.kernel.used(), "known from the last run")
		b.members.mute = false
		b.members.expects[0] = slots.Keeps
		b.run(5 * time.Second)
		assert.Equal(t, []netip.Addr{ownOf(2), ownOf(3)}, b.kernel.used(), "what members say counts")
		b.stop()
	})
}

func TestFollowerUsesTheListWhereNobodyAnswers(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.members.mute = true
		e := entryOf()
		e.Members = []netip.Addr{ownOf(7), ownOf(8)}
		e.Servers = e.Members
		b.refuses[ownOf(8)] = syscall.ECONNREFUSED
		b.start(t.TempDir(), e, false)
		b.run(time.Second)
		assert.Equal(t, []netip.Addr{ownOf(7)}, b.kernel.used())
		b.stop()
	})
}

func TestFollowerTriesAgainWhatTheKernelHasRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.kernel.fails = errors.New("no nftables")
		b.start(t.TempDir(), entryOf(), false)
		b.run(3 * time.Second)
		s := b.status(t)
		assert.Equal(t, "no nftables", s.Follows[0].Problem)
		assert.Equal(t, 1, strings.Count(b.log.String(), "no nftables"))
		b.kernel.fails = nil
		b.run(2 * retryAfter)
		assert.Equal(t, all(), b.kernel.used())
		b.stop()
	})
}

// A host that has no IPv4 of its own follows members that elect by IPv4.
func TestFollowerUsesTheAddressThatItReaches(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.members.other = true
		e := entryOf()
		e.Addresses = append(e.Addresses, netip.MustParseAddr("fd77::100"))
		b.start(t.TempDir(), e, false)
		for i := range 3 {
			b.refuses[ownOf(i+1)] = syscall.ENETUNREACH
		}
		b.run(3 * time.Second)
		assert.Empty(t, b.kernel.targets[0].Backends)
		assert.Len(t, b.kernel.targets[1].Backends, 3)
		assert.Equal(t, b.kernel.targets[1].Backends, b.kernel.proxied)
		assert.False(t, b.status(t).Follows[0].Ports[0].Wire)
		b.refuses[other(2)] = syscall.ECONNREFUSED
		b.run(2 * probeEvery)
		assert.Equal(t, []netip.Addr{other(1), other(3)}, []netip.Addr{b.kernel.targets[1].Backends[0].At.Addr(), b.kernel.targets[1].Backends[1].At.Addr()})
		b.stop()
	})
}

func TestFollowerSaysThatMembersLackTheFamily(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		e := entryOf()
		e.Addresses = []netip.Addr{netip.MustParseAddr("fd77::100")}
		b.members.pub.Serve(e.Addresses[0])
		b.members.group = e.Addresses[0]
		e.Members = []netip.Addr{ownOf(1)}
		b.start(t.TempDir(), e, false)
		b.run(time.Second)
		p := b.status(t).Follows[0].Ports[0]
		assert.True(t, p.Wire)
		require.Len(t, p.Members, 3)
		assert.Equal(t, "it has no address of the virtual address's family; link-local addresses do not count", p.Members[0].Why)
		b.stop()
	})
}

// The listener is for hosts where nothing may be put into the kernel's tables.
func TestListenerDoesWithoutTheKernel(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.kernel.fails = errors.New("no nftables")
		b.start(t.TempDir(), entryOf(), false)
		b.run(time.Second)
		assert.Len(t, b.kernel.proxied, 3)
		b.members.expects[1] = slots.Keeps
		b.run(20 * time.Millisecond)
		assert.Len(t, b.kernel.proxied, 2)
		b.stop()
	})
}

func TestConnectionsToADeadMemberAreEndedWhenTheKernelCan(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.kernel.fails = errors.New("busy")
		b.start(t.TempDir(), entryOf(), false)
		b.run(time.Second)
		b.members.expects[2] = slots.Dead
		b.run(2 * retryAfter)
		assert.Empty(t, b.kernel.dead)
		b.kernel.fails = nil
		b.kernel.destroys = errors.New("busy, too")
		b.run(2 * retryAfter)
		b.kernel.destroys = nil
		b.run(2 * retryAfter)
		assert.Equal(t, []netip.Addr{ownOf(3)}, b.kernel.dead)

		b.members.expects[2] = slots.Fit
		b.run(time.Second)
		b.kernel.destroys, b.kernel.tries = errors.New("no such thing here"), 0
		b.members.expects[2] = slots.Dead
		b.run(10 * retryAfter)
		assert.Equal(t, endTries, b.kernel.tries, "it is not tried for ever")
		assert.Equal(t, 1, strings.Count(b.log.String(), "no such thing here"))
		b.stop()
	})
}

// What the run before has found goes on until this one knows something.
func TestFollowerBeginsWithWhatItWasLeft(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.start(t.TempDir(), entryOf(), true)
		b.run(time.Second)
		b.stop()
		b.kernel.applied = 0
		b.members.mute = true
		b.start(t.TempDir(), entryOf(), false)
		b.run(firstWait - 20*time.Millisecond)
		assert.Zero(t, b.kernel.applied)
		b.run(100 * time.Millisecond)
		assert.Equal(t, 1, b.kernel.applied)
		assert.Empty(t, b.kernel.used(), "nobody is known")
		b.stop()
	})
}

func TestListenerOutlastsAReload(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.start(t.TempDir(), entryOf(), true)
		b.run(time.Second)
		b.stop()
		assert.Len(t, b.kernel.listens, 1, "its connections go on")
		e := entryOf()
		e.Ports[0].Port = 9443
		b.start(t.TempDir(), e, false)
		assert.Equal(t, map[string][]netip.AddrPort{"127.0.0.1:9443": {netip.AddrPortFrom(vip, 9443)}}, b.kernel.listens)
		b.run(time.Second)
		b.stop()
		assert.Empty(t, b.kernel.listens)
	})
}

// The first entry is the listener's. Those that serve another address are none to pass connections on to, and no more are those that get none now.
func TestListenerForgetsTheMembersOfTheRunBefore(t *testing.T) {
	another := entryOf()
	another.Name, another.Addresses = "etcd", []netip.Addr{netip.MustParseAddr("10.77.0.101")}
	for name, tt := range map[string]struct {
		next  Entry
		after time.Duration // until it does
	}{
		"another entry":  {another, 50 * time.Millisecond},
		"the same entry": {entryOf(), 2 * probeEvery},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bench) {
				b.start(t.TempDir(), entryOf(), true)
				b.run(time.Second)
				b.stop()
				require.Len(t, b.kernel.proxied, 3)
				b.members.mute = true // for the one that comes, as where it has the wrong key
				b.start(t.TempDir(), tt.next, false)
				b.run(tt.after)
				assert.Empty(t, b.kernel.proxied)
				b.stop()
			})
		})
	}
}

// Its operator has said that it gets nothing.
func TestWeightZeroCountsWhileNoMemberSaysAnything(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.members.weights = []uint8{1, 0, 2}
		b.start(t.TempDir(), entryOf(), false)
		b.run(2 * probeEvery)
		b.members.mute = true
		b.run(2 * probeEvery)
		assert.Equal(t, []netip.Addr{ownOf(1), ownOf(3)}, b.kernel.used())
		b.stop()
	})
}

// Members that have gone since then may be anybody.
func TestFollowerForgetsTheLastRunWhenItIsTold(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		dir := t.TempDir()
		require.NoError(t, known{vip: {ownOf(1), ownOf(9)}}.write(dir))
		b.start(dir, entryOf(), false)
		b.run(2 * probeEvery)
		b.members.mute = true
		b.run(2 * probeEvery)
		assert.Equal(t, all(), b.kernel.used())
		b.stop()
	})
}

func TestStatusIsThereWhileOneRunFollowsTheOther(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.start(t.TempDir(), entryOf(), true)
		b.run(time.Second)
		b.stop()
		began := time.Now()
		assert.Equal(t, "apiserver over 3 of 3 members", b.status(t).line())
		require.NoError(t, b.stuck())
		assert.Zero(t, time.Since(began))
		b.free(func() { time.Sleep(2 * stuckAfter) })
		require.Error(t, b.stuck(), "the next one does not begin")
	})
}

func TestKnownIsWrittenOnceThereIsRoom(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		dir := filepath.Join(t.TempDir(), "state")
		require.NoError(t, os.WriteFile(dir, nil, 0o600), "no directory can be made there")
		b.start(dir, entryOf(), false)
		b.run(5 * writeAfter)
		assert.Equal(t, 1, strings.Count(b.log.String(), "is not kept for the next start"))
		require.NoError(t, os.Remove(dir))
		b.run(2 * writeAfter)
		k, err := readKnown(dir)
		require.NoError(t, err)
		assert.Equal(t, known{vip: all()}, k)
		b.stop()
	})
}

func TestChooseByFamily(t *testing.T) {
	s := Share{Weight: 3, SentTo: []netip.Addr{ownOf(1), other(1)}}
	only := Share{Weight: 1, SentTo: []netip.Addr{ownOf(2)}}
	assert.Equal(t, []intercept.Backend{{At: netip.MustParseAddrPort("[fd77::11]:443"), Weight: 3}}, backends([]Share{s, only}, netip.MustParseAddr("fd77::100"), 443))
	assert.Len(t, backends([]Share{s, only}, vip, 443), 2)
}

// A link-local IPv6 address does not say on which link, so a connection that is translated to one goes nowhere.
func TestChooseSendsNothingToLinkLocalAddresses(t *testing.T) {
	e := entryOf()
	e.Addresses = []netip.Addr{netip.MustParseAddr("fd77::100")}
	p := e.Ports[0]
	on := []subscription.Port{{Protocol: p.Protocol.Number(), Port: p.Port, Condition: slots.Fit}}
	all := []subscription.Member{
		{Address: netip.MustParseAddr("fd77::11"), Weight: 1, Ports: on},
		{Address: netip.MustParseAddr("fe80::12"), Weight: 1, Ports: on},
	}
	for _, told := range []bool{true, false} {
		got := e.choose(p, all, told, []netip.Addr{netip.MustParseAddr("fe80::13")}, func(netip.AddrPort) verdict { return reached })
		assert.Equal(t, []netip.Addr{all[0].Address}, got[0].SentTo)
		for _, s := range got[1:] {
			assert.Empty(t, s.SentTo)
			assert.Equal(t, "it has no address of the virtual address's family; link-local addresses do not count", s.Why)
		}
	}
}

func TestKnownIsWhatWasWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	k, err := readKnown(dir)
	require.NoError(t, err)
	assert.Empty(t, k)
	want := known{vip: all(), netip.MustParseAddr("fd77::100"): {netip.MustParseAddr("fd77::11")}}
	require.NoError(t, want.write(dir))
	k, err = readKnown(dir)
	require.NoError(t, err)
	assert.Equal(t, want, k)
}

func TestKnownRefuses(t *testing.T) {
	for name, tt := range map[string]struct{ give, want string }{
		"empty":           {"", "EOF"},
		"half":            {`{"version":1`, "unexpected EOF"},
		"another version": {`{"version":2}`, "version 2, want 1"},
		"no address":      {`{"version":1,"members":{"10.77.0.100":["x"]}}`, "unable to parse"},
		"empty address":   {`{"version":1,"members":{"10.77.0.100":[""]}}`, "want at most"},
		"more":            {`{"version":1,"fit":true}`, "unknown field"},
		"very long":       {strings.Repeat(" ", mostKnown+1), "more than"},
		"too many": {
			`{"version":1,"members":{"10.77.0.100":[` + strings.TrimSuffix(strings.Repeat(`"10.0.0.1",`, mostPeers+1), ",") + `]}}`,
			"want at most 16 addresses",
		},
	} {
		_, err := parseKnown([]byte(tt.give))
		assert.ErrorContains(t, err, tt.want, name)
	}
}

func FuzzParseKnown(f *testing.F) {
	f.Add([]byte(`{"version":1,"members":{"10.77.0.100":["10.77.0.11"]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if k, err := parseKnown(b); err == nil {
			assert.NotNil(t, k)
		}
	})
}

// The loop asks Asked before it spends anything on a packet.
func TestPacketsThatNobodyAskedForAreNotLookedInto(t *testing.T) {
	m := subscription.NewMachine(vip, "", nil, func() uint64 { return 7 })
	m.Know(nil, []netip.Addr{vip})
	assert.False(t, m.Asked(nil))
	b := make([]byte, 24)
	assert.False(t, m.Asked(b))
	binary.BigEndian.PutUint64(b[8:], 7)
	assert.True(t, m.Asked(b))
	assert.True(t, slices.Equal(m.By(time.Now()), nil))
}

func TestFollowerHearsEachMessageThatWaits(t *testing.T) {
	const session, waiting = 7, 150
	machine := subscription.NewMachine(vip, "", nil, func() uint64 { return session })
	machine.Know([]netip.Addr{ownOf(1)}, nil)
	in := make(chan subscription.Packet, waiting)
	f := &follower{client: &members{in: in}, entries: []*entry{{machine: machine}}}
	message := make([]byte, 24)
	binary.BigEndian.PutUint64(message[8:], session)
	for range waiting {
		in <- subscription.Packet{Data: message}
	}
	for len(in) > 0 {
		f.hear(time.Now(), <-in)
	}
	assert.Equal(t, map[envelope.Reason]uint64{envelope.RejectMagic: waiting}, machine.Refused())
}
