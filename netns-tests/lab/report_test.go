package lab

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestStandstillIsWhatOneSecondHasOfIt(t *testing.T) {
	first := []Stall{{At: 100 * ms, Length: 50 * ms}, {At: 120 * ms, Length: 60 * ms}}
	for name, tt := range map[string]struct {
		starved []Stall
		want    time.Duration
	}{
		"what overlaps counts once":           {nil, 80 * ms},
		"several spells add up":               {[]Stall{{At: 900 * ms, Length: 40 * ms}}, 120 * ms},
		"but not what is a second apart":      {[]Stall{{At: 1500 * ms, Length: 30 * ms}}, 80 * ms},
		"a second has no more than one of it": {[]Stall{{At: 5000 * ms, Length: 1500 * ms}}, 1000 * ms},
	} {
		assert.Equal(t, tt.want, (&Report{Stalls: first, Starved: tt.starved}).StoodStill(), name)
	}
	assert.Zero(t, (&Report{}).StoodStill())
}

func TestTakerIsWhoHasTheAddressAtTheEnd(t *testing.T) {
	added := func(node int, at time.Duration) Bind { return Bind{At: at, Node: node, Address: VIP4, Added: true} }
	removed := func(node int, at time.Duration) Bind { return Bind{At: at, Node: node, Address: VIP4} }
	for name, tt := range map[string]struct {
		give []Bind
		want int
	}{
		"one":                             {[]Bind{added(1, 1), removed(1, 5), added(2, 6)}, 2},
		"two at once, the first keeps it": {[]Bind{added(1, 1), added(3, 6), added(2, 7), removed(2, 8)}, 3},
		"two at once, the last keeps it":  {[]Bind{added(3, 6), added(2, 7), removed(3, 8)}, 2},
		"one that lost it and has it":     {[]Bind{added(2, 6), removed(2, 7), added(3, 8), added(2, 9), removed(3, 9)}, 2},
		"nobody at the end":               {[]Bind{added(3, 6), removed(3, 7), added(2, 8), removed(2, 9)}, 2},
		"before":                          {[]Bind{added(1, 1)}, 0},
	} {
		assert.Equal(t, tt.want, (&Report{Binds: tt.give}).Taker(VIP4, 5), name)
	}
}

func TestAnnouncementDelayIsThatOfEachBind(t *testing.T) {
	bind := func(at time.Duration, node int, added bool) Bind {
		return Bind{At: at * time.Millisecond, Node: node, Address: VIP4, Added: added}
	}
	for name, tt := range map[string]struct {
		binds []Bind
		says  []time.Duration // when node 1 announces, in milliseconds
		want  []time.Duration
	}{
		"it announces later":                          {[]Bind{bind(10, 1, true)}, []time.Duration{13, 20}, []time.Duration{3}},
		"the bind is seen late":                       {[]Bind{bind(10, 1, true)}, []time.Duration{7, 20}, []time.Duration{0}},
		"it never announces":                          {[]Bind{bind(10, 1, true)}, nil, nil},
		"what another one binds is none of it":        {[]Bind{bind(10, 2, true)}, []time.Duration{13}, nil},
		"what it announced long before is none of it": {[]Bind{bind(40, 1, true)}, []time.Duration{7, 44}, []time.Duration{4}},
		"what it announced before the fault":          {[]Bind{bind(10, 1, true)}, []time.Duration{4}, nil},
		"it binds twice":                              {[]Bind{bind(10, 1, true), bind(20, 1, false), bind(40, 1, true)}, []time.Duration{11, 42}, []time.Duration{1, 2}},
		"the second bind is without":                  {[]Bind{bind(10, 1, true), bind(20, 1, false), bind(40, 1, true)}, []time.Duration{11}, []time.Duration{1}},
	} {
		r := &Report{Binds: tt.binds}
		for _, at := range tt.says {
			r.Announcements = append(r.Announcements, Announcement{At: at * time.Millisecond, Node: 1, Address: VIP4})
		}
		got := r.AnnouncementDelays(VIP4, 5*time.Millisecond)
		for i := range got {
			got[i] /= time.Millisecond
		}
		assert.Equal(t, tt.want, got, name)
	}
}
