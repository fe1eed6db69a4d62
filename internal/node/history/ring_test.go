package history

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/serve/instance"
)

var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// numbered is the line of a transition of one virtual address.
func numbered(number uint64, vip string) line {
	t := instance.Transition{At: began, Name: vip, From: "backup", To: "active", Reason: fmt.Sprintf("reason %d", number)}
	return encode(Record{Number: number, Transition: t})
}

func numbers(lines []line) (out []uint64) {
	for _, l := range lines {
		out = append(out, l.number)
	}
	return out
}

func TestRingKeepsTheLastOfOneAddress(t *testing.T) {
	var r ring
	for n := range uint64(450) {
		gone, full := r.add(numbered(n+1, "apiserver"))
		assert.Equal(t, n >= maxRecords, full)
		if full {
			assert.Equal(t, n+1-maxRecords, gone.number)
		}
	}
	assert.Len(t, r.lines, maxRecords)
	assert.Equal(t, uint64(251), r.lines[0].number)
	assert.Equal(t, uint64(450), r.last)
	assert.Equal(t, []uint64{449, 450}, numbers(r.after(448, 8)))
	assert.Equal(t, []uint64{301, 302}, numbers(r.after(300, 2)))
	assert.Empty(t, r.after(450, 8))
}

func TestRingOfAnAddressThatFlapsKeepsTheOthers(t *testing.T) {
	var r ring
	for n := range uint64(30) {
		r.add(numbered(n+1, []string{"apiserver", "ingress", "dns"}[n%3]))
	}
	for n := range uint64(1000) {
		r.add(numbered(n+31, "ingress"))
	}
	count := map[string]int{}
	for i, l := range r.lines {
		count[l.vip]++
		if i > 0 {
			assert.Greater(t, l.number, r.lines[i-1].number, "in order")
		}
	}
	assert.Equal(t, map[string]int{"apiserver": 10, "dns": 10, "ingress": 180}, count)
	assert.Equal(t, uint64(1030), r.lines[maxRecords-1].number)
}

func TestRingOfManyAddressesKeepsTheLast(t *testing.T) {
	var r ring
	for n := range uint64(510) {
		r.add(numbered(n+1, fmt.Sprint("vip-", n%255)))
	}
	assert.Equal(t, uint64(311), r.lines[0].number)
	assert.Len(t, r.lines, maxRecords)
}

// A fault that comes and goes for a day must not cost the moves that explain it.
func TestRingOfAFaultThatComesAndGoesKeepsTheMoves(t *testing.T) {
	var r ring
	for n := range uint64(1150) {
		one := numbered(n+1, "apiserver")
		if n >= 150 {
			one = encode(Record{Number: n + 1, Transition: instance.Transition{At: began, Name: "apiserver", Fault: "silent", Over: n%2 == 0}})
			again, _, ok := decode(one.text)
			assert.True(t, ok)
			assert.True(t, again.fault)
		}
		r.add(one)
	}
	assert.Len(t, r.lines, maxRecords)
	assert.Equal(t, uint64(1), r.lines[0].number)
	assert.Equal(t, uint64(150), r.lines[149].number, "every move")
	assert.Equal(t, uint64(1101), r.lines[150].number, "the newest faults")
}
