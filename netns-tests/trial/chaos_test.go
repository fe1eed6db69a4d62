package trial

import (
	"errors"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

func TestEpisodeOfOneSeedIsAlwaysTheSame(t *testing.T) {
	kinds := map[string]bool{}
	for i := range 2000 {
		plan := Episode(7, i)
		assert.Equal(t, plan, Episode(7, i))
		require.NotEmpty(t, plan)
		for _, in := range plan {
			kinds[in.Kind] = true
			assert.Less(t, in.Role, 3)
			assert.Less(t, in.Entry, 3)
		}
	}
	assert.Len(t, kinds, len(chaosKinds()), "%v", slices.Sorted(maps.Keys(kinds)))
	assert.NotEqual(t, Episode(7, 0), Episode(8, 0))
}

func TestKnownEpisodesAreOfKindsThatExist(t *testing.T) {
	for _, k := range KnownEpisodes() {
		for _, in := range k.Plan {
			assert.NotNil(t, chaosKindOf(in.Kind).begin, in.Kind)
		}
	}
}

func TestEveryLiveKeyOfTheSoakIsInItsFile(t *testing.T) {
	for key := range liveKeys() {
		assert.Contains(t, chaosFile, " # "+key+"\n")
	}
	for _, bad := range badFiles(&chaosNode{Node: &lab.Node{Dir: "/n"}}) {
		text := strings.ReplaceAll(chaosFile, "%[1]s", "/n/key")
		for i := 0; i < len(bad); i += 2 {
			assert.Contains(t, text, bad[i])
		}
	}
}

func TestOutageIsExplainedByWhatWasDone(t *testing.T) {
	const ms = time.Millisecond
	node := &chaosNode{Node: &lab.Node{ID: 1}}
	done := func(kind string, from, to time.Duration, held [3]bool) *injected {
		return &injected{Injection: Injection{Kind: kind}, kind: chaosKindOf(kind), node: node, from: from, to: to, held: held}
	}
	killed := func(from, to time.Duration, held [3]bool) *injected { return done("kill -9", from, to, held) }
	c := &Chaos{entries: []chaosEntry{{name: "group"}, {name: "peers"}, {name: "raft", raft: true}}}
	outage := lab.Outage{At: 1100 * ms, End: 1300 * ms, Length: 200 * ms}
	for _, tt := range []struct {
		name  string
		done  []*injected
		entry int
		want  time.Duration
	}{
		{"nothing was done", nil, chaosGroup, 20 * ms},
		{"the holder was killed", []*injected{killed(1000*ms, 2000*ms, [3]bool{true})}, chaosGroup, 20*ms + takeover},
		{"another one was", []*injected{killed(1000*ms, 2000*ms, [3]bool{})}, chaosGroup, 20*ms + planned},
		{"it was later", []*injected{killed(1400*ms, 2000*ms, [3]bool{true})}, chaosGroup, 20 * ms},
		{"the leader was killed", []*injected{killed(1000*ms, 2000*ms, [3]bool{false, false, true})}, chaosRaft, 20*ms + elected},
		{
			"two of three were",
			[]*injected{killed(1000*ms, 2000*ms, [3]bool{}), killed(1200*ms, 1800*ms, [3]bool{})},
			chaosRaft, 20*ms + 3*elected + 600*ms,
		},
		{
			"one was, and another one was stopped",
			[]*injected{killed(1000*ms, 2000*ms, [3]bool{}), done("SIGTERM", 1200*ms, 1800*ms, [3]bool{})},
			chaosRaft, 20*ms + 2*elected + raftPass + 600*ms,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, c.limit(&EpisodeResult{injected: tt.done}, tt.entry, 0, outage))
		})
	}
}

func TestOutageOfAStarvedMachineIsUndecided(t *testing.T) {
	const ms = time.Millisecond
	address := lab.VIP4
	c := &Chaos{entries: []chaosEntry{{name: "group", addresses: []netip.Addr{address}}}}
	for _, tt := range []struct {
		name             string
		outage           time.Duration
		stall            lab.Stall
		wrong, undecided int
	}{
		{"nothing stood still", 150 * ms, lab.Stall{}, 1, 0},
		{"for less than was lost", 150 * ms, lab.Stall{At: 900 * ms, Length: 80 * ms}, 1, 0},
		{"for an interval", 150 * ms, lab.Stall{At: 900 * ms, Length: 101 * ms}, 0, 1},
		{"afterwards", 150 * ms, lab.Stall{At: 4500 * ms, Length: 500 * ms}, 1, 0},
		{"for an interval, and was silent for long", 10 * time.Second, lab.Stall{At: 900 * ms, Length: 120 * ms}, 1, 0},
		{"for an interval in the middle of a long silence", 10 * time.Second, lab.Stall{At: 5000 * ms, Length: 120 * ms}, 1, 0},
		{"for most of a long silence", 10 * time.Second, lab.Stall{At: 1000 * ms, Length: 9500 * ms}, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &lab.Report{Ended: 20 * time.Second, Streams: []lab.StreamReport{
				{Client: "c1", Target: address, Outages: []lab.Outage{{At: 1000 * ms, End: 1000*ms + tt.outage, Length: tt.outage}}},
			}}
			r.Starved = []lab.Stall{tt.stall}
			res := &EpisodeResult{Report: r, Outages: map[string]time.Duration{}, injected: []*injected{{from: 15 * time.Second}}}
			c.judgeOutages(res)
			assert.Len(t, res.Wrong, tt.wrong)
			assert.Len(t, res.Undecided, tt.undecided)
		})
	}
}

// That not all becomes whole again is no matter of some milliseconds.
func TestNodesThatDoNotSettleAreWrong(t *testing.T) {
	for _, tt := range []struct {
		name             string
		stall            time.Duration
		wrong, undecided int
	}{
		{"on a machine that ran", 0, 1, 0},
		{"while it stood still for an interval", 120 * time.Millisecond, 1, 0},
		{"while it stood still most of the time", 7 * time.Second, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := &EpisodeResult{Report: &lab.Report{Ended: 20 * time.Second, Starved: []lab.Stall{{At: 5 * time.Second, Length: tt.stall}}}}
			res.unsettled(nil, span{})
			res.unsettled(errors.New("not whole"), span{4 * time.Second, 16 * time.Second})
			assert.Len(t, res.Wrong, tt.wrong)
			assert.Len(t, res.Undecided, tt.undecided)
		})
	}
}

// A status that stays wrong is wrong on any machine.
func TestClaimsAreExcusedByAStandstillForAWhile(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name             string
		lasts            time.Duration
		stall            time.Duration
		wrong, undecided int
	}{
		{"on a machine that ran, shortly", 3900 * ms, 0, 0, 0},
		{"on a machine that ran", 4800 * ms, 0, 1, 0},
		{"after a standstill", 4800 * ms, 120 * ms, 0, 1},
		{"long after it", 12 * time.Second, 120 * ms, 1, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &Chaos{entries: []chaosEntry{{name: "group", addresses: []netip.Addr{lab.VIP4}}}}
			res := &EpisodeResult{Report: &lab.Report{Ended: 20 * time.Second, Starved: []lab.Stall{{At: 900 * ms, Length: tt.stall}}}}
			var claims []claim
			for at := 1000 * ms; at <= 1000*ms+tt.lasts; at += 100 * ms {
				claims = append(claims, claim{at: at, node: 1, entry: "group", state: "active"})
			}
			c.judgeClaims(res, claims)
			assert.Len(t, res.Wrong, tt.wrong)
			assert.Len(t, res.Undecided, tt.undecided)
		})
	}
}

// Two that answer are excused by a standstill around that time, and by no other.
func TestTwoThatAnswerWhileTheMachineRunsAreWrong(t *testing.T) {
	const ms = time.Millisecond
	var rounds []lab.Round
	for at := 2000 * ms; at < 2100*ms; at += 5 * ms {
		rounds = append(rounds, lab.Round{At: at, Nodes: []int{1, 2}})
	}
	for _, tt := range []struct {
		name  string
		stall lab.Stall
		wrong int
	}{
		{"nothing stood still", lab.Stall{}, 2},
		{"three seconds later", lab.Stall{At: 5000 * ms, Length: 200 * ms}, 2},
		{"two seconds before", lab.Stall{At: 100 * ms, Length: 200 * ms}, 2},
		{"meanwhile", lab.Stall{At: 1990 * ms, Length: 100 * ms}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &Chaos{entries: []chaosEntry{{name: "group", addresses: []netip.Addr{lab.VIP4}}}}
			res := &EpisodeResult{Report: &lab.Report{
				Ended: 8 * time.Second, Starved: []lab.Stall{tt.stall}, Apart: map[netip.Addr]lab.DirectReport{lab.VIP4: lab.Asked(5*ms, rounds...)},
			}}
			c.judgeDoubles(res)
			assert.Len(t, res.Wrong, tt.wrong)
			assert.Empty(t, res.Undecided)
		})
	}
}

// A daemon that spins is wrong on any machine.
func TestDaemonThatSpinsIsWrong(t *testing.T) {
	const ms = time.Millisecond
	starved := &lab.Report{Ended: 5 * time.Second, Starved: []lab.Stall{{At: 900 * ms, Length: 4000 * ms}}}
	for _, tt := range []struct {
		name         string
		used, passed time.Duration
		wrong        []string
	}{
		{"little", 100 * ms, 5000 * ms, nil},
		{"as much as it may", 3000 * ms, 5000 * ms, nil},
		{"more", 3010 * ms, 5000 * ms, []string{"n2 has used 3010 ms of a processor within 5000 ms"}},
		{"more than one processor", 9000 * ms, 5000 * ms, []string{"n2 has used 9000 ms of a processor within 5000 ms"}},
		{"at its begin", 300 * ms, 1500 * ms, nil},
		{"for no time", 0, 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := &EpisodeResult{Report: starved}
			res.judgeCPU("n2", chaosUsed{700 * ms, 1000 * ms}, chaosUsed{700*ms + tt.passed, 1000*ms + tt.used})
			assert.Equal(t, tt.wrong, res.Wrong)
			assert.Empty(t, res.Undecided)
		})
	}
}

// An episode that is undecided must never look like one that was right, nor hide what is wrong on any machine.
func TestEpisodesAreCountedByWhatTheyShow(t *testing.T) {
	const ms = time.Millisecond
	calm := &lab.Report{Ended: 5 * time.Second}
	starved := &lab.Report{Ended: 5 * time.Second, Starved: []lab.Stall{{At: 900 * ms, Length: 120 * ms}, {At: 3000 * ms, Length: 30 * ms}}}
	episodes := []*EpisodeResult{
		{Index: 0, Report: calm},
		{Index: 1, Report: starved},
		{Index: 2, Report: starved},
		{Index: 3, Report: starved, Wrong: []string{"two answer"}},
		{Index: 4, Report: calm},
	}
	for _, i := range []int{2, 3, 4} {
		episodes[i].note(episodes[i].Report == starved, "too slow")
	}
	var tally Tally
	verdicts := make([]string, len(episodes))
	for i, r := range episodes {
		r.Seed = 7
		tally.Add(r)
		verdicts[i] = r.verdict()
	}
	assert.Equal(t, []string{
		"ok", "ok",
		"UNDECIDED, the machine stood still for 150 ms, at most 120 within a second: too slow",
		"WRONG: two answer; UNDECIDED, the machine stood still for 150 ms, at most 120 within a second: too slow",
		"WRONG: too slow",
	}, verdicts)
	var out strings.Builder
	tally.Print(&out)
	assert.Equal(t, "undecided: seed 7, episode 2: the machine stood still for 150 ms, at most 120 within a second\n"+
		"5 episodes, 2 wrong, 1 undecided because the machine stood still\n", out.String())
}

func TestTwoMayAnswerOnlyWhereBothHalvesAreAlive(t *testing.T) {
	const ms = time.Millisecond
	vrrp, raft := chaosEntry{name: "group"}, chaosEntry{name: "raft", raft: true}
	for _, tt := range []struct {
		kind  string
		entry chaosEntry
		want  []span
	}{
		{"port cut", vrrp, []span{{1000 * ms, 2000*ms + healed}}},
		{"members cut off", vrrp, []span{{1000 * ms, 2000*ms + healed}}},
		{"port cut", raft, nil},
		{"cable", vrrp, nil},
		{"link down", vrrp, nil},
		{"SIGSTOP", vrrp, nil},
		{"port blocked late", vrrp, []span{{1000 * ms, 2000*ms + healed}}},
		{"deaf", vrrp, []span{{1990 * ms, 2000*ms + healed}}},
		{"deaf", raft, nil},
		{"MAC changed", vrrp, nil},
		{"ruleset flushed", vrrp, nil},
	} {
		t.Run(tt.kind+" "+tt.entry.name, func(t *testing.T) {
			in := &injected{kind: chaosKindOf(tt.kind), from: 1000 * ms, undone: 1990 * ms, to: 2000 * ms}
			res := &EpisodeResult{Report: &lab.Report{Ended: 5 * time.Second}, injected: []*injected{in}}
			assert.Equal(t, tt.want, (&Chaos{}).allowed(res, tt.entry))
		})
	}
}

func TestClientsPulledToANodeThatHasNotListenedAreSeen(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name  string
		kinds []string
		at    time.Duration
		to    int
		want  int
	}{
		{"to the node whose link is back", []string{"cable"}, 2030 * ms, 2, 1},
		{"after it has listened", []string{"cable"}, 2400 * ms, 2, 0},
		{"to the node that takes over", []string{"cable"}, 1300 * ms, 1, 0},
		{"after a heal that nobody saw", []string{"port cut"}, 2030 * ms, 2, 0},
		{"by a handover", []string{"cable", "handover"}, 2030 * ms, 2, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &Chaos{entries: []chaosEntry{{name: "group", addresses: []netip.Addr{lab.VIP4}}}}
			res := &EpisodeResult{Report: &lab.Report{Ended: 5 * time.Second, Streams: []lab.StreamReport{
				{Client: "c1", Target: lab.VIP4, Changes: []lab.Change{{At: tt.at, To: tt.to}}},
			}}}
			for _, kind := range tt.kinds {
				res.injected = append(res.injected, &injected{
					kind: chaosKindOf(kind), node: &chaosNode{Node: &lab.Node{ID: 2}}, from: 1000 * ms, undone: 1990 * ms, to: 2010 * ms,
				})
			}
			c.judgePulls(res)
			assert.Len(t, res.Wrong, tt.want)
		})
	}
}

// A reload that the soak expects to succeed must not have two keys that are an error together.
func TestChangesOfAReloadAgree(t *testing.T) {
	pairs, both := [][2]string{{"addresses", "peers.addresses"}, {"preempt", "preemptDelay"}}, 0
	for detail := range uint32(1 << 12) {
		changed := changes(Injection{Detail: detail << 4})
		if len(changed) > 1 {
			both++
		}
		for _, p := range pairs {
			assert.False(t, changed[p[0]] != "" && changed[p[1]] != "", "%v of detail %d", changed, detail<<4)
		}
	}
	assert.NotZero(t, both)
}
