package lab

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestExcuseEndsWithWhatTheProtocolDoesAboutAStandstill(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name    string
		starved []Stall
		want    time.Duration
	}{
		{"nothing stood still", nil, 2000 * ms},
		{"shortly", []Stall{{At: 1100 * ms, Length: 90 * ms}}, 2090 * ms},
		{"for longer than the limit", []Stall{{At: 1100 * ms, Length: 110 * ms}}, 2410 * ms},
		{"for long at once", []Stall{{At: 1100 * ms, Length: 3000 * ms}}, 5300 * ms},
		{"in two pieces", []Stall{{At: 900 * ms, Length: 60 * ms}, {At: 1800 * ms, Length: 60 * ms}}, 2420 * ms},
		{"in two pieces a second apart", []Stall{{At: 900 * ms, Length: 60 * ms}, {At: 1900 * ms, Length: 60 * ms}}, 2120 * ms},
		{"twice", []Stall{{At: 1100 * ms, Length: 110 * ms}, {At: 1300 * ms, Length: 110 * ms}}, 2820 * ms},
		{"again before the excuse of the first has ended", []Stall{{At: 1900 * ms, Length: 110 * ms}, {At: 2400 * ms, Length: 110 * ms}}, 2820 * ms},
		{"again after it", []Stall{{At: 1900 * ms, Length: 110 * ms}, {At: 2420 * ms, Length: 110 * ms}}, 2410 * ms},
		{"before it can have mattered", []Stall{{At: 300 * ms, Length: 150 * ms}}, 2000 * ms},
		{"afterwards", []Stall{{At: 2001 * ms, Length: 5000 * ms}}, 2000 * ms},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &Report{Starved: tt.starved}
			assert.Equal(t, tt.want, r.Excused(500*ms, 2000*ms, 100*ms, 300*ms))
		})
	}
}
