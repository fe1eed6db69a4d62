//go:build netns

package netnstests

import (
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

func open(t *testing.T, cfg trial.Config) *trial.Group {
	t.Helper()
	return opened(t, trial.Open, calm(cfg))
}

func prepare(t *testing.T, cfg trial.Config) *trial.Group {
	t.Helper()
	return opened(t, trial.Prepare, calm(cfg))
}

// openHeld is open with the node that holds the addresses.
func openHeld(t *testing.T, cfg trial.Config) (*trial.Group, *lab.Node) {
	t.Helper()
	g := started(t, cfg)
	return g, settled(t, g)
}

// started is a group whose daemons have just been started: a fault waits until they have settled, and need not do so twice.
func started(t *testing.T, cfg trial.Config) *trial.Group {
	t.Helper()
	g := prepare(t, cfg)
	require.NoError(t, g.StartAll())
	return g
}

// opened is a group that lives as long as its test.
func opened(t *testing.T, open func(*lab.Host, trial.Config) (*trial.Group, error), cfg trial.Config) *trial.Group {
	t.Helper()
	g := must(open(host, cfg))(t)
	t.Cleanup(func() { finish(t, g) })
	return g
}

func finish(t *testing.T, g *trial.Group) {
	t.Helper()
	if t.Failed() {
		t.Log(g.Logs())
	}
	g.Close()
}

// each runs a test for each row of a table, all of them beside each other.
func each[T any](t *testing.T, rows map[string]T, test func(t *testing.T, row T)) {
	t.Helper()
	t.Parallel()
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, row)
		})
	}
}

// eachFamily runs a test for a virtual address of each family.
func eachFamily(t *testing.T, test func(t *testing.T, vip netip.Addr)) {
	t.Helper()
	each(t, map[string]netip.Addr{lab.VIP4.String(): lab.VIP4, lab.VIP6.String(): lab.VIP6}, test)
}

// must is what a step returns, which is required not to fail: must(n.Addresses())(t).
func must[T any](got T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return got
	}
}

// mustTwo is [must] for a step that returns two things.
func mustTwo[T, U any](first T, second U, err error) func(testing.TB) (T, U) {
	return func(t testing.TB) (T, U) {
		t.Helper()
		require.NoError(t, err)
		return first, second
	}
}

// measure runs a fault, prints its timeline when the test fails, and asserts what holds in each of them however late the machine is: no
// keepvip answers for longer than its lease, by the times of the kernel, and in the end one node alone has the addresses, and a client is answered.
// What something takes is for the bench.
func measure(t *testing.T, g *trial.Group, fault trial.Fault) *trial.Result {
	t.Helper()
	res := must(fault(g))(t)
	t.Cleanup(func() {
		if t.Failed() {
			res.Report.Timeline(os.Stdout, res.FaultAt)
		}
	})
	t.Logf("%s: outage %s ms, takeovers %d (%d by silence), two answering %s ms", res.Fault, lab.Milliseconds(res.Outage), res.Takeovers, res.BySilence,
		lab.Milliseconds(res.Two))
	if g.Product.Name() == "keepvip" {
		assert.Zero(t, res.Overdue, "%s: answers after the lease", res.Fault)
	}
	must(g.SettleAny())(t)
	return res
}

// fallsSilent asserts that a holder to which a fault happens answers no longer than its lease, and beside nobody, and says nothing when it is woken; gone: and
// that its kernel takes the address away.
func fallsSilent(t *testing.T, g *trial.Group, fault trial.Fault, gone bool) *trial.Result {
	t.Helper()
	res := measure(t, g, fault)
	require.NotNil(t, res.Silence)
	t.Logf("frames after the lease %d, announcements after waking %d, address gone after %v, two answering %v", res.Silence.Late, res.Silence.Woken, res.Silence.Gone, res.Two)
	assert.Zero(t, res.Report.Beside(res.Victim, res.FaultAt, res.Report.Ended), "the silenced node answers beside another")
	assert.Zero(t, res.Silence.Late, "frames in the address's name after its lease: %s", res.Note)
	assert.Zero(t, res.Silence.Woken, "announcements of the woken node")
	if gone {
		assert.Positive(t, res.Silence.Gone, "the kernel has not removed the address")
	}
	return res
}

// reached asserts that a client is answered at each address in the end.
func reached(t *testing.T, g *trial.Group) {
	t.Helper()
	for _, a := range g.Addresses {
		eventually(t, trial.SettleLimit, "a client is answered at "+a.String(), func() bool {
			return g.Lab.Reaches(g.Lab.Client.Namespace, a, time.Second)
		})
	}
}

const (
	// patience is for how long a holder that passes the address on goes on serving for the next one (docs/protocol.md), and some.
	patience = 250 * time.Millisecond
	// usableTime is for how long the next one waits for its kernel to take packets for the addresses before it announces them.
	usableTime = 100 * time.Millisecond
)

// passedOn asserts that in a planned move the former node had the addresses until the next one announced them, unless the next one's kernel did not have
// them in time, or a node took over meanwhile from one that had ceased to advertise. How many probes are lost, make bench measures: the program that
// answers them may be late.
func passedOn(t *testing.T, res *trial.Result) {
	t.Helper()
	var last, took time.Duration
	for _, a := range res.Report.Answers {
		if a.Node == res.Victim && a.At >= res.FaultAt {
			last = a.At
		}
	}
	for _, a := range slices.Backward(res.Report.Adverts) {
		if a.Node == res.Taker && a.At >= res.FaultAt {
			took = a.At
		}
	}
	first := announced(res)
	if took == 0 { // with Raft nobody advertises
		took = first
	}
	orderly := first-last < patience && first-took < usableTime && res.BySilence == 0
	if assert.NotZero(t, first, "%s: the next one announces", res.Fault) && orderly {
		for _, b := range res.Report.Binds {
			if b.Node == res.Victim && b.At >= res.FaultAt {
				assert.False(t, !b.Added && b.At < first, "%s: %s removed at %v, announced by the next one at %v", res.Fault, b.Address, b.At, first)
			}
		}
	}
}

// announced is when another node than the victim announced the addresses first; zero: none did.
func announced(res *trial.Result) time.Duration {
	i := slices.IndexFunc(res.Report.Announcements, func(a lab.Announcement) bool {
		return a.Node != 0 && a.Node != res.Victim && a.At >= res.FaultAt
	})
	if i < 0 {
		return 0
	}
	return res.Report.Announcements[i].At
}

// stays does something after which the node that it returns is still the holder. On any machine the address leaves a node that lives only
// where that node has ceased to advertise. So do looks for the holder itself: a silence from before is not seen.
func stays(t *testing.T, g *trial.Group, do func() (holder *lab.Node)) {
	t.Helper()
	var holder, now *lab.Node
	r := recorded(t, g, func() {
		holder = do()
		now = must(g.SettleAny())(t)
	})
	if now != holder {
		assert.NotZero(t, r.BySilence(0), "%s held the address, and now %s does", holder.Label, now.Label)
	}
}

// recorded is what was on the wire while do ran. It says whether a holder ceased to advertise, which lets the address move on any machine.
func recorded(t *testing.T, g *trial.Group, do func()) *lab.Report {
	t.Helper()
	m := must(g.Lab.Measure(lab.MeasureConfig{Targets: g.Addresses, NoDirect: true}))(t)
	defer m.Stop() // do may end the test
	do()
	return m.Stop()
}

// calmInterval is for what does not depend on the interval: to the others a daemon that does not run for an Active_Down_Interval is a dead
// one, and this one is longer than a busy machine keeps a process waiting.
const calmInterval = 250 * time.Millisecond

// calm has an election take its time where a test wants no other interval.
func calm(cfg trial.Config) trial.Config {
	if cfg.Interval == 0 {
		cfg.Interval = calmInterval
	}
	return cfg
}

// counted is [measure] with a group of its own, for faults whose moves are counted by [moved].
func counted(t *testing.T, cfg trial.Config, fault trial.Fault) *trial.Result {
	t.Helper()
	return measure(t, started(t, cfg), fault)
}

// moved asserts how often the address has moved: so often, and besides from a holder that had ceased to advertise, and perhaps back, and as
// often as two advertised in turn then.
func moved(t *testing.T, want int, res *trial.Result) {
	t.Helper()
	assert.GreaterOrEqual(t, res.Takeovers, want, "moves")
	rivalry := res.Report.Rivalry(res.FaultAt, res.Report.Ended)
	assert.LessOrEqual(t, res.Takeovers, want+2*res.BySilence+rivalry, "moves, %d of them by silence, and %d between two that advertised in turn", res.BySilence, rivalry)
	if want == 1 && res.Takeovers == 1 {
		assert.NotEqual(t, res.Victim, res.Taker)
	}
}

// settleFor lets real time pass: what is watched here happens in other processes.
func settleFor(d time.Duration) { <-time.After(d) }

func settled(t *testing.T, g *trial.Group) *lab.Node {
	t.Helper()
	return must(g.Settle())(t)
}

func hostPrefix(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }

// eventually looks often enough for every test, and less often than keepvip answers one user on its metrics listener. It looks in the
// test's own goroutine: a condition that fails the test ends it, and says where.
func eventually(t *testing.T, limit time.Duration, what string, condition func() bool) bool {
	t.Helper()
	limit = max(limit, trial.SettleLimit) // only who waits in vain waits for so long
	for end := time.Now().Add(limit); !condition(); settleFor(50 * time.Millisecond) {
		if time.Now().After(end) {
			return assert.Fail(t, "not within "+limit.String(), what)
		}
	}
	return true
}

// goneOnceTold waits until the node has no longer an address that it has passed on: it stays, and answers nobody, until its clients are told.
func goneOnceTold(t *testing.T, n *lab.Node, a netip.Addr) {
	t.Helper()
	eventually(t, 20*time.Second, "the address is gone once its clients are told", func() bool { return !n.Holds(a) })
}

// knowsUnfit waits until the holder has heard that each of these takes no address.
func knowsUnfit(t *testing.T, holder *lab.Node, others ...*lab.Node) {
	t.Helper()
	eventually(t, 10*time.Second, "the holder knows who takes nothing", func() bool {
		unfit := 0
		for _, m := range statusOf(t, holder).VIPs[0].Members {
			if m.Unfit != "" && slices.ContainsFunc(others, func(n *lab.Node) bool { return n.Address.String() == m.Address }) {
				unfit++
			}
		}
		return unfit == len(others)
	})
}

// weighs is the memory of the daemon that has most, in bytes. Own leaves out pages of the program file: how many of those are mapped beside one
// that is needed is for the kernel to say.
func weighs(t *testing.T, g *trial.Group, memory func(*lab.Process) (int64, error)) (most int64) {
	t.Helper()
	for _, n := range g.Lab.Nodes {
		most = max(most, must(memory(g.Daemon(n)))(t))
	}
	return most
}

// command runs a command that asks the keepvip of a node, and returns its exit status.
func command(t *testing.T, n *lab.Node, args ...string) int {
	t.Helper()
	_, code := mustTwo(trial.Keepvip{}.Command(n, append(args, "--socket", trial.Socket(n))...))(t)
	return code
}

// refused asserts that no other node is fit for what the holder is told to do, and that the address stays.
func refused(t *testing.T, g *trial.Group, why string, args ...string) {
	t.Helper()
	var (
		code        int
		holder, now *lab.Node
	)
	r := recorded(t, g, func() {
		holder = settled(t, g)
		code, now = command(t, holder, args...), must(g.SettleAny())(t)
	})
	if r.Silences(0) == 0 {
		assert.Equal(t, 3, code, why)
		assert.Equal(t, holder, now)
	}
}

// passesOn has a node give the address away, unless it has lost it meanwhile, as a node that stands still does.
func passesOn(t *testing.T, n *lab.Node) {
	t.Helper()
	eventually(t, trial.SettleLimit, n.Label+" passes the address on", func() bool { return command(t, n, "handover") == 0 || !isActive(n) })
}

// printed is what such a command prints.
func printed(t *testing.T, n *lab.Node, args ...string) string {
	t.Helper()
	p, _ := mustTwo(trial.Keepvip{}.Command(n, append(args, "--socket", trial.Socket(n))...))(t)
	return p.Stdout()
}

// shows asks whether the status of the node's first entry is like that.
func shows(n *lab.Node, like func(v trial.VIPStatus) bool) func() bool {
	return func() bool {
		s, err := trial.Keepvip{}.Status(n)
		return err == nil && len(s.VIPs) > 0 && like(s.VIPs[0])
	}
}

func isActive(n *lab.Node) bool {
	return shows(n, func(v trial.VIPStatus) bool { return v.State == "active" })()
}

// tells asks whether `keepvip status` says all of that.
func tells(n *lab.Node, words ...string) func() bool {
	return func() bool {
		p, _, err := trial.Keepvip{}.Command(n, "status", "--socket", trial.Socket(n))
		return err == nil && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(p.Stdout(), w) })
	}
}

func statusOf(t *testing.T, n *lab.Node) trial.Status {
	t.Helper()
	return must(trial.Keepvip{}.Status(n))(t)
}

func dualStack() []netip.Addr { return []netip.Addr{lab.VIP4, lab.VIP6} }
