package lab

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestTwoThatAnswerAreExcusedByAStandstillAroundThatTimeAlone(t *testing.T) {
	const ms = time.Millisecond
	var rounds []Round
	for at := time.Duration(0); at < 8000*ms; at += 10 * ms {
		round := Round{At: at, Nodes: []int{1}}
		if at >= 2000*ms && at < 2100*ms || at >= 4000*ms && at < 4050*ms {
			round.Nodes = []int{1, 3}
		}
		rounds = append(rounds, round)
	}
	asked := Asked(10*ms, rounds...)
	for _, tt := range []struct {
		name    string
		starved []Stall
		want    time.Duration
	}{
		{"nothing stood still", nil, 150 * ms},
		{"later", []Stall{{At: 5000 * ms, Length: 500 * ms}}, 150 * ms},
		{"in between", []Stall{{At: 3000 * ms, Length: 500 * ms}}, 150 * ms},
		{"shortly before the first", []Stall{{At: 1850 * ms, Length: 80 * ms}}, 70 * ms},
		{"around the first for longer than it", []Stall{{At: 1900 * ms, Length: 300 * ms}}, 50 * ms},
		{"around the second", []Stall{{At: 4010 * ms, Length: 30 * ms}}, 120 * ms},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &Report{Starved: tt.starved}
			assert.Equal(t, 150*ms, asked.TwoIn(0, 8000*ms))
			assert.Equal(t, tt.want, r.TwoBeyond(asked, 200*ms, 0, 8000*ms))
			assert.Equal(t, tt.want, r.DiscoveryTwoBeyond(asked, 200*ms, 0, 8000*ms))
		})
	}
}
