package trial

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

// What a starved machine explains is a move soon after it; nothing else is.
func TestExplainedAreMovesAfterAStandstill(t *testing.T) {
	const ms = time.Millisecond
	vip := netip.MustParseAddr("10.77.0.100")
	g := &Group{Settings: []Settings{{Interval: 200 * ms, Priority: 100}}}
	for name, tt := range map[string]struct {
		starved []lab.Stall
		want    int
	}{
		"an idle machine":          {nil, 0},
		"just before":              {[]lab.Stall{{At: 4500 * ms, Length: 250 * ms}}, 1},
		"in two pieces":            {[]lab.Stall{{At: 4300 * ms, Length: 120 * ms}, {At: 4700 * ms, Length: 120 * ms}}, 1},
		"no longer than is normal": {[]lab.Stall{{At: 4500 * ms, Length: 100 * ms}}, 0},
		"long ago":                 {[]lab.Stall{{At: 2500 * ms, Length: 250 * ms}}, 0},
		"afterwards":               {[]lab.Stall{{At: 5100 * ms, Length: 250 * ms}}, 0},
	} {
		r := &lab.Report{
			Starved: tt.starved,
			Binds:   []lab.Bind{{At: 5000 * ms, Node: 2, Address: vip, Added: true}, {At: 9000 * ms, Node: 1, Address: vip, Added: true}},
		}
		assert.Equal(t, tt.want, g.explained(vip, 0, r), name)
	}
}

// Two that answer are excused for exactly as long as a process stood still around that time, and not by what came in between.
func TestSplitIsJudgedBeyondTheMeasuredStandstill(t *testing.T) {
	const ms = time.Millisecond
	var rounds []lab.Round
	for _, from := range []time.Duration{1000 * ms, 3000 * ms} {
		for at := from; at < from+90*ms; at += 10 * ms {
			rounds = append(rounds, lab.Round{At: at, Nodes: []int{1, 2}})
		}
	}
	for name, tt := range map[string]struct {
		starved []lab.Stall
		want    time.Duration
	}{
		"an idle machine":     {nil, 180 * ms},
		"at another time":     {[]lab.Stall{{At: 5000 * ms, Length: 200 * ms}}, 180 * ms},
		"in between":          {[]lab.Stall{{At: 2000 * ms, Length: 200 * ms}}, 180 * ms},
		"around that time":    {[]lab.Stall{{At: 980 * ms, Length: 60 * ms}}, 120 * ms},
		"around both":         {[]lab.Stall{{At: 980 * ms, Length: 60 * ms}, {At: 3010 * ms, Length: 40 * ms}}, 80 * ms},
		"for longer than two": {[]lab.Stall{{At: 950 * ms, Length: 200 * ms}, {At: 2950 * ms, Length: 200 * ms}}, 0},
	} {
		var seen splitSeen
		seen.twice(&lab.Report{Direct: lab.Asked(10*ms, rounds...), Starved: tt.starved}, 100*ms)
		assert.Equal(t, 180*ms, seen.two, name)
		assert.Equal(t, tt.want, seen.beyond(), name)
	}
}

// Where the machine stood still for an interval, that the address moved is not judged; how long it was silent, and that two answered,
// always is.
func TestFloodOnAMachineThatStoodStill(t *testing.T) {
	const ms = time.Millisecond
	wild := Flooded{Silent: time.Second, SilentRoom: 980 * ms, Transitions: 3, Room: 120 * ms}
	assert.Empty(t, wild.Findings().Over(1))
	wild.Judged = true
	assert.Len(t, wild.Findings().Over(1), 1)
	wild.SilentRoom = 120 * ms
	assert.Len(t, wild.Findings().Over(1), 2)
	wild = Flooded{Two: 141 * ms, TwoRoom: 120 * ms, Room: 120 * ms}
	assert.Equal(t, []string{"two answered for 141 ms, limit 140 ms"}, wild.Findings().Over(1))
	wild.CPU = floodCPU + 1
	assert.Len(t, wild.Findings().Over(1), 2)
}

// A standstill explains as much as it may have begun.
func TestSilenceUnderAFloodIsExcusedByTheStandstillsAround(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name     string
		interval time.Duration
		outage   time.Duration
		starved  []lab.Stall
		judged   bool
		over     int
	}{
		{"on a machine that ran", 100 * ms, 30 * ms, nil, true, 1},
		{"for no longer than the machine stood still", 100 * ms, 70 * ms, []lab.Stall{{At: 1990 * ms, Length: 60 * ms}}, true, 0},
		{"at another time than that", 100 * ms, 70 * ms, []lab.Stall{{At: 4000 * ms, Length: 60 * ms}}, true, 1},
		{"after a node did not run for an interval", 100 * ms, 500 * ms, []lab.Stall{{At: 1900 * ms, Length: 120 * ms}}, false, 0},
		{"throughout, with one standstill", 10 * ms, 5000 * ms, []lab.Stall{{At: 1990 * ms, Length: 15 * ms}}, false, 1},
		{"throughout, with another one in the middle", 10 * ms, 5000 * ms, []lab.Stall{{At: 1990 * ms, Length: 15 * ms}, {At: 4000 * ms, Length: 15 * ms}}, false, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := Settings{Interval: tt.interval, Priority: 100}
			res := &Result{FaultAt: 1500 * ms, Outage: tt.outage, Report: &lab.Report{
				Ended: 8 * time.Second, Starved: tt.starved,
				Streams: []lab.StreamReport{{Outages: []lab.Outage{{At: 2000 * ms, End: 2000*ms + tt.outage, Length: tt.outage}}}},
			}}
			found := Flooded{Silent: res.Outage}
			found.judge(res, false, s, s.stallCost())
			assert.Equal(t, tt.judged, found.Judged)
			assert.Len(t, found.Findings().Over(1), tt.over)
		})
	}
}

// What is left out of a long run is an outage that a standstill explains, not every one that has a standstill in it.
func TestOutagesAreLeftOutOfALongRunAsFarAsAStandstillExplainsThem(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name    string
		outage  time.Duration
		stall   lab.Stall
		leftOut int
	}{
		{"nothing stood still", 500 * ms, lab.Stall{}, 0},
		{"for an interval", 500 * ms, lab.Stall{At: 1900 * ms, Length: 101 * ms}, 1},
		{"for an interval, and it was silent for a minute", time.Minute, lab.Stall{At: 1900 * ms, Length: 101 * ms}, 0},
		{"for an interval in the middle of that minute", time.Minute, lab.Stall{At: 30 * time.Second, Length: 101 * ms}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := &Group{Settings: []Settings{{Interval: 100 * ms, Priority: 100}}, Addresses: []netip.Addr{lab.VIP4}}
			res := &Result{Report: &lab.Report{
				Ended: 90 * time.Second, Starved: []lab.Stall{tt.stall},
				Streams: []lab.StreamReport{{Outages: []lab.Outage{{At: 2000 * ms, End: 2000*ms + tt.outage, Length: tt.outage}}}},
			}}
			g.discount(res)
			assert.Equal(t, tt.leftOut, res.LeftOut)
			assert.Equal(t, tt.leftOut == 0, res.Outage == tt.outage)
		})
	}
}
