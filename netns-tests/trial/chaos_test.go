package trial

import (
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

const ms = time.Millisecond

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
	node := &chaosNode{Node: &lab.Node{ID: 1}}
	done := func(kind string, from, to time.Duration, held [3]bool) *injected {
		return &injected{Injection: Injection{Kind: kind}, kind: chaosKindOf(kind), node: node, from: from, to: to, held: held}
	}
	killed := func(from, to time.Duration, held [3]bool) *injected { return done("kill -9", from, to, held) }
	c := &Chaos{entries: []chaosEntry{{name: "group"}, {name: "peers"}, {name: "raft", raft: true}}}
	outage := lab.Outage{At: 1100 * ms, End: 1300 * ms, Length: 200 * ms}
	all := [3]bool{true, true, true}
	for _, tt := range []struct {
		name          string
		done          []*injected
		entry, family int
		want          time.Duration
	}{
		{"nothing was done", nil, chaosGroup, 0, 20 * ms},
		{"the holder was killed", []*injected{killed(1000*ms, 2000*ms, [3]bool{true})}, chaosGroup, 0, 20*ms + takeover},
		{"another one was", []*injected{killed(1000*ms, 2000*ms, [3]bool{})}, chaosGroup, 0, 20*ms + planned},
		{"it was later", []*injected{killed(1400*ms, 2000*ms, [3]bool{true})}, chaosGroup, 0, 20 * ms},
		{"the leader was killed", []*injected{killed(1000*ms, 2000*ms, [3]bool{false, false, true})}, chaosRaft, 0, 20*ms + elected},
		{
			"two of three were",
			[]*injected{killed(1000*ms, 2000*ms, [3]bool{}), killed(1200*ms, 1800*ms, [3]bool{})},
			chaosRaft, 0, 20*ms + 3*elected + 600*ms,
		},
		{
			"one was, and another one was stopped",
			[]*injected{killed(1000*ms, 2000*ms, [3]bool{}), done("SIGTERM", 1200*ms, 1800*ms, [3]bool{})},
			chaosRaft, 0, 20*ms + 2*elected + raftPass + 600*ms,
		},
		// Faults of the host.
		{"deaf", []*injected{done("deaf", 1000*ms, 2000*ms, all)}, chaosGroup, 0, 20*ms + unheard},
		{"deaf", []*injected{done("deaf", 1000*ms, 2000*ms, all)}, chaosGroup, 1, 20*ms + unheard},
		{"deaf", []*injected{done("deaf", 1000*ms, 2000*ms, all)}, chaosRaft, 0, 20*ms + elected},
		{"deaf", []*injected{done("deaf", 1000*ms, 2000*ms, [3]bool{})}, chaosGroup, 0, 20*ms + planned},
		{"ruleset flushed", []*injected{done("ruleset flushed", 1000*ms, 2000*ms, all)}, chaosPeers, 0, 20*ms + planned},
		{"ruleset flushed", []*injected{done("ruleset flushed", 1000*ms, 2000*ms, all)}, chaosRaft, 0, 20*ms + renewed},
		{"MAC changed", []*injected{done("MAC changed", 1000*ms, 2000*ms, all)}, chaosGroup, 0, 20*ms + planned},
		{"own address applied again", []*injected{done("own address applied again", 1000*ms, 2000*ms, all)}, chaosPeers, 0, 20*ms + planned},
		{"own address away", []*injected{done("own address away", 1000*ms, 2000*ms, all)}, chaosPeers, 0, 20*ms + takeover},
		{"IPv6 off", []*injected{done("IPv6 off", 1000*ms, 2000*ms, all)}, chaosGroup, 0, 20*ms + planned},
		{"IPv6 off", []*injected{done("IPv6 off", 1000*ms, 2000*ms, all)}, chaosGroup, 1, 20*ms + unbound},
		{"IPv6 off", []*injected{done("IPv6 off", 1000*ms, 2000*ms, [3]bool{})}, chaosGroup, 1, 20*ms + planned},
		{"port blocked late", []*injected{done("port blocked late", 1000*ms, 2000*ms, all)}, chaosGroup, 0, 20*ms + planned},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, c.limit(&EpisodeResult{injected: tt.done}, tt.entry, tt.family, outage))
		})
	}
}

func TestOutageBeyondItsLimitIsSlow(t *testing.T) {
	c := &Chaos{entries: []chaosEntry{{name: "group", addresses: []netip.Addr{lab.VIP4}}}}
	for outage, want := range map[time.Duration]int{20 * ms: 0, 21 * ms: 1, 10 * time.Second: 1} {
		r := &lab.Report{Ended: 20 * time.Second, Streams: []lab.StreamReport{
			{Client: "c1", Target: lab.VIP4, Outages: []lab.Outage{{At: 1000 * ms, End: 1000*ms + outage, Length: outage}}},
		}}
		res := &EpisodeResult{Report: r, Outages: map[string]time.Duration{}, injected: []*injected{{from: 15 * time.Second}}}
		c.judgeOutages(res)
		assert.Len(t, res.Slow, want, outage)
		assert.Empty(t, res.Wrong)
	}
}

func TestClaimsThatStayRefutedAreSlow(t *testing.T) {
	for lasts, want := range map[time.Duration]int{3900 * ms: 0, 4800 * ms: 1, 12 * time.Second: 1} {
		c := &Chaos{entries: []chaosEntry{{name: "group", addresses: []netip.Addr{lab.VIP4}}}}
		res := &EpisodeResult{Report: &lab.Report{Ended: 20 * time.Second}}
		var claims []claim
		for at := 1000 * ms; at <= 1000*ms+lasts; at += 100 * ms {
			claims = append(claims, claim{at: at, node: 1, entry: "group", state: "active"})
		}
		c.judgeClaims(res, claims)
		assert.Len(t, res.Slow, want, lasts)
	}
}

// A daemon that spins is wrong on any machine.
func TestDaemonThatSpinsIsWrong(t *testing.T) {
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
			assert.Empty(t, res.Slow)
		})
	}
}

// An episode that is left out must never look like one that was right, nor hide what is wrong on any machine.
func TestEpisodesAreCountedByWhatTheyShow(t *testing.T) {
	ran := &lab.Report{Ended: 5 * time.Second}
	stood := &lab.Report{Ended: 5 * time.Second, Starved: []lab.Stall{{At: 900 * ms, Length: 80 * ms}, {At: 1500 * ms, Length: 30 * ms}}}
	slow := []string{"silent for long"}
	episodes := []*EpisodeResult{
		{Report: ran}, {Report: stood}, {Report: stood, Slow: slow}, {Report: stood, Slow: slow, Wrong: []string{"two answer"}}, {Report: ran, Slow: slow},
	}
	var tally Tally
	var verdicts []string
	for _, r := range episodes {
		tally.Add(r)
		verdicts = append(verdicts, r.verdict())
	}
	assert.Equal(t, []string{"ok", "ok", "LEFT OUT: silent for long", "WRONG: two answer; LEFT OUT: silent for long", "SLOW: silent for long"}, verdicts)
	var out strings.Builder
	tally.Print(&out)
	assert.Equal(t, "5 episodes, 2 wrong, 1 left out because the machine stood still for more than 100 ms within a second\n", out.String())
}

func TestTwoMayAnswerOnlyWhereBothHalvesAreAlive(t *testing.T) {
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

// A node that hears neither advertisements nor messages of another one is partitioned from it. One of the two is enough to know of each other.
func TestTwoMayAnswerWhereNothingOfTheOneArrivesAtTheOther(t *testing.T) {
	n1, n2 := &chaosNode{}, &chaosNode{}
	for _, tt := range []struct {
		adverts, words string
		same           bool
		want           []span
	}{
		{"112 lost, in", "UDP 9646 lost, out", false, []span{{1200 * ms, 2000*ms + healed}}},
		{"112 lost, out", "UDP 9646 lost, in", false, []span{{1200 * ms, 2000*ms + healed}}},
		{"112 lost, in and out", "UDP 9646 lost, in", false, []span{{1200 * ms, 2000*ms + healed}}},
		{"112 lost, in", "UDP 9646 lost, in", true, []span{{1200 * ms, 2000*ms + healed}}},
		{"112 lost, in", "UDP 9646 lost, in", false, nil},
		{"112 lost, in", "UDP 9646 lost, out", true, nil},
		{"112 lost, in", "TCP 9646 lost, in and out", true, nil},
		{"112 lost, in", "112 lost, out", false, nil},
	} {
		a := &injected{kind: chaosKindOf(tt.adverts), node: n1, from: 1000 * ms, to: 2000 * ms}
		b := &injected{kind: chaosKindOf(tt.words), node: map[bool]*chaosNode{true: n1, false: n2}[tt.same], from: 1200 * ms, to: 3000 * ms}
		res := &EpisodeResult{Report: &lab.Report{Ended: 5 * time.Second}, injected: []*injected{b, a}}
		assert.Equal(t, tt.want, (&Chaos{}).allowed(res, chaosEntry{name: "group"}), "%+v", tt)
		assert.Empty(t, (&Chaos{}).allowed(res, chaosEntry{name: "raft", raft: true}))
	}
}

func TestClientsPulledToANodeThatHasNotListenedAreSeen(t *testing.T) {
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
			assert.Len(t, res.Slow, tt.want)
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
