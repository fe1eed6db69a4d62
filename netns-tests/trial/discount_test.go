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
