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

func TestWhatComesToLightIsExcusedByAStandstillShortlyBeforeAlone(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name    string
		starved []Stall
		want    bool
	}{
		{"nothing stood still", nil, false},
		{"shortly before", []Stall{{At: 4500 * ms, Length: 210 * ms}}, true},
		{"until then", []Stall{{At: 4790 * ms, Length: 500 * ms}}, true},
		{"in two pieces", []Stall{{At: 4100 * ms, Length: 100 * ms}, {At: 4800 * ms, Length: 100 * ms}}, true},
		{"for too short a time", []Stall{{At: 4500 * ms, Length: 190 * ms}}, false},
		{"long before", []Stall{{At: 2000 * ms, Length: 1500 * ms}}, false},
		{"afterwards", []Stall{{At: 5001 * ms, Length: 1000 * ms}}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &Report{Starved: tt.starved}
			assert.Equal(t, tt.want, r.Excuses(5000*ms, 200*ms))
		})
	}
}

func TestConnectionsLostShortlyAfterAStandstillAreExcused(t *testing.T) {
	const ms = time.Millisecond
	machine := &Report{Starved: []Stall{{At: 1000 * ms, Length: 300 * ms}}}
	r := HeldReport{Conns: []HeldConn{
		{Node: "lives", Stall: 340 * ms, StallAt: 980 * ms},
		{Node: "lives longer", Stall: 400 * ms, StallAt: 5000 * ms},
		{Node: "reset soon", Lost: 1500 * ms},
		{Node: "reset at another time", Lost: 2500 * ms},
		{Node: "silent from soon on", Lost: 9000 * ms, Since: 1600 * ms},
		{Node: "silent at another time", Lost: 9000 * ms, Since: 800 * ms},
	}}
	var excused []string
	for _, c := range r.Excused(machine, 200*ms).Conns {
		excused = append(excused, c.Node)
	}
	assert.Equal(t, []string{"reset soon", "silent from soon on"}, excused)
	assert.Equal(t, 400*ms, r.StallBeyond(machine, time.Second))
	r.Conns = r.Conns[:1]
	assert.Equal(t, 40*ms, r.StallBeyond(machine, time.Second))
}
