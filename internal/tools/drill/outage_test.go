package drill

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

const ms = time.Millisecond

// series is one probe each 2 ms: '+' was answered, '-' was not, '.' was never sent because the prober stalled.
func series(text string) []sample {
	var out []sample
	for i, c := range text {
		if c != '.' {
			out = append(out, sample{Sent: time.Duration(i) * 2 * ms, Answered: c == '+'})
		}
	}
	return out
}

func TestOutages(t *testing.T) {
	tests := map[string]struct {
		series string
		want   Seen
	}{
		"none":                   {"", Seen{}},
		"all answered":           {"++++", Seen{Sent: 4, Coarsest: 2 * ms}},
		"one lost":               {"++-+", Seen{Sent: 4, Lost: 1, Longest: Outage{4 * ms, 1, 2 * ms}, Total: 2 * ms, Coarsest: 2 * ms}},
		"a gap":                  {"+---+", Seen{Sent: 5, Lost: 3, Longest: Outage{2 * ms, 3, 6 * ms}, Total: 6 * ms, Coarsest: 2 * ms}},
		"the longest of two":     {"+-+--+", Seen{Sent: 6, Lost: 3, Longest: Outage{6 * ms, 2, 4 * ms}, Total: 6 * ms, Coarsest: 2 * ms}},
		"the first of equals":    {"+-+-+", Seen{Sent: 5, Lost: 2, Longest: Outage{2 * ms, 1, 2 * ms}, Total: 4 * ms, Coarsest: 2 * ms}},
		"a stall before it":      {"+...--+", Seen{Sent: 4, Lost: 2, Longest: Outage{8 * ms, 2, 4 * ms}, Total: 4 * ms, Coarsest: 8 * ms}},
		"a stall in the middle":  {"+-...-+", Seen{Sent: 4, Lost: 2, Longest: Outage{2 * ms, 2, 10 * ms}, Total: 10 * ms, Coarsest: 8 * ms}},
		"a stall after it":       {"+--...+", Seen{Sent: 4, Lost: 2, Longest: Outage{2 * ms, 2, 4 * ms}, Total: 4 * ms, Coarsest: 8 * ms}},
		"silent until the end":   {"+---", Seen{Sent: 4, Lost: 3, Longest: Outage{2 * ms, 3, 6 * ms}, Total: 6 * ms, Coarsest: 2 * ms}},
		"silent from the start":  {"--+", Seen{Sent: 3, Lost: 2, Longest: Outage{0, 2, 4 * ms}, Total: 4 * ms, Coarsest: 2 * ms}},
		"nothing was answered":   {"--", Seen{Sent: 2, Lost: 2, Longest: Outage{0, 2, 4 * ms}, Total: 4 * ms, Coarsest: 2 * ms}},
		"a stall and no outage":  {"+....+", Seen{Sent: 2, Coarsest: 10 * ms}},
		"one probe that is lost": {"-", Seen{Sent: 1, Lost: 1, Longest: Outage{0, 1, 2 * ms}, Total: 2 * ms}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tt.want, outages(series(tt.series), 2*ms)) })
	}
}
