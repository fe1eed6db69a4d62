package lab

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestStolenIsTheEighthFigureOfEachProcessor(t *testing.T) {
	const stat = "cpu  2042001 177901 755331 1485981 7351 0 129756 260505 0 0\n" +
		"cpu0 1021000 88950 377665 742990 3675 0 64878 130 0 0\n" +
		"cpu1 1021001 88951 377666 742991 3676 0 64878 7 0 0\n" +
		"intr 12345 1 2 3 4 5 6 7 8\nctxt 99\n"
	assert.Equal(t, []time.Duration{1300 * time.Millisecond, 70 * time.Millisecond}, stolen(stat))
	assert.Empty(t, stolen(""))
	assert.Empty(t, stolen("cpu0 1 2 3 4 5 6 7 x 0 0\n"))
}

// What was taken of the machine is room for what a program on it does, as a standstill is.
func TestStolenTimeIsRoom(t *testing.T) {
	const ms = time.Millisecond
	r := &Report{Starved: []Stall{{At: 1000 * ms, Length: 30 * ms}}, Stolen: []Stall{{At: 1010 * ms, Length: 40 * ms}, {At: 1160 * ms, Length: 40 * ms}}}
	assert.Equal(t, 90*ms, r.Stood(900*ms, 1300*ms), "what is at the same time counts once")
	assert.False(t, r.Starving(900*ms, 1300*ms, 35*ms), "nobody stood still for so long")
	assert.Zero(t, r.MaxStall())
	assert.InDelta(t, 0.25, r.Taken(1030*ms, 1190*ms), 0.07, "20 and 30 of 160 ms")
}
