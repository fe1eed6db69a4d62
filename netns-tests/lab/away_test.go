package lab

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// An address that is away is excused for exactly as long as the machine stood still shortly before, or meanwhile.
func TestOutageBeyondTheMeasuredStandstill(t *testing.T) {
	const ms = time.Millisecond
	stream := StreamReport{Interval: ms, Outages: []Outage{
		{At: 1000 * ms, End: 1090 * ms, Lost: 90, Length: 90 * ms},
		{At: 60_000 * ms, End: 60_070 * ms, Lost: 70, Length: 70 * ms},
	}}
	for name, tt := range map[string]struct {
		starved []Stall
		want    time.Duration
		lost    int
	}{
		"an idle machine":       {nil, 90 * ms, 160},
		"a minute before":       {[]Stall{{At: 100 * ms, Length: 200 * ms}}, 90 * ms, 160},
		"in between":            {[]Stall{{At: 30_000 * ms, Length: 2000 * ms}}, 90 * ms, 160},
		"afterwards":            {[]Stall{{At: 61_000 * ms, Length: 2000 * ms}}, 90 * ms, 160},
		"shortly before":        {[]Stall{{At: 900 * ms, Length: 30 * ms}}, 70 * ms, 130},
		"meanwhile":             {[]Stall{{At: 1010 * ms, Length: 30 * ms}}, 70 * ms, 130},
		"at both":               {[]Stall{{At: 990 * ms, Length: 30 * ms}, {At: 60_000 * ms, Length: 5 * ms}}, 65 * ms, 125},
		"for longer than it is": {[]Stall{{At: 800 * ms, Length: 500 * ms}, {At: 59_800 * ms, Length: 500 * ms}}, 0, 0},
	} {
		r := Report{Streams: []StreamReport{stream}, Starved: tt.starved, Ended: 70_000 * ms}
		assert.Equal(t, tt.want, r.AwayBeyond(r.Streams, 500*ms, 0), name)
		assert.Equal(t, tt.lost, r.LostBeyond(stream, 500*ms), name)
		assert.LessOrEqual(t, r.AwayBeyond(r.Streams, 500*ms, 50_000*ms), 70*ms, name)
	}
}
