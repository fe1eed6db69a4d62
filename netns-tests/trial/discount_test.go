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

// Two that answer are excused for exactly as long as a process stood still around that time.
func TestSplitIsJudgedBeyondTheMeasuredStandstill(t *testing.T) {
	const ms = time.Millisecond
	asked := lab.DirectReport{
		UDP: lab.DirectAnswers{Two: 90 * ms, TwoFrom: 1000 * ms, TwoLast: 1090 * ms},
		ARP: lab.DirectAnswers{Two: 70 * ms, TwoFrom: 3000 * ms, TwoLast: 3070 * ms},
	}
	for name, tt := range map[string]struct {
		starved []lab.Stall
		want    time.Duration
	}{
		"an idle machine":     {nil, 90 * ms},
		"at another time":     {[]lab.Stall{{At: 2000 * ms, Length: 200 * ms}}, 90 * ms},
		"around that time":    {[]lab.Stall{{At: 980 * ms, Length: 60 * ms}}, 70 * ms}, // what ARP has shown is the worst then
		"around both":         {[]lab.Stall{{At: 980 * ms, Length: 60 * ms}, {At: 3010 * ms, Length: 40 * ms}}, 30 * ms},
		"for longer than two": {[]lab.Stall{{At: 950 * ms, Length: 200 * ms}, {At: 2950 * ms, Length: 200 * ms}}, 0},
	} {
		var seen splitSeen
		seen.twice(&lab.Report{Direct: asked, Starved: tt.starved}, 100*ms)
		assert.Equal(t, tt.want, seen.beyond(), name)
	}
}

// Where the machine stood still for an interval, what the address did is not judged; that two answer always is.
func TestFloodOnAMachineThatStoodStill(t *testing.T) {
	const ms = time.Millisecond
	wild := Flooded{Silent: time.Second, Transitions: 3, Room: 120 * ms}
	assert.Empty(t, wild.Findings().Over(1))
	wild.Judged = true
	assert.Len(t, wild.Findings().Over(1), 2)
	wild.Judged, wild.Two = false, 141*ms
	assert.Equal(t, []string{"two answered for 141 ms, limit 140 ms"}, wild.Findings().Over(1))
	wild.CPU = floodCPU + 1
	assert.Len(t, wild.Findings().Over(1), 2)
}
