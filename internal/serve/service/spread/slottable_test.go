package spread

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/members/slots"
)

func rowsOf(conditions map[byte]slots.Condition, holder byte) (rows []row) {
	for n := byte(11); n <= 14; n++ {
		if c, ok := conditions[n]; ok {
			rows = append(rows, row{Member: slots.Member{Address: addr(n), Condition: c, Weight: 1}, holder: n == holder})
		}
	}
	return rows
}

// Members that come one after the other in a moment are one change: the connections are still where they were before.
func TestSlotTableFollowsThatOfBeforeABurst(t *testing.T) {
	began := time.Now()
	fit := map[byte]slots.Condition{11: slots.Fit}
	for _, tt := range []struct {
		name  string
		apart time.Duration
		found bool
	}{{"in a moment", time.Second, true}, {"later", burst, false}} {
		t.Run(tt.name, func(t *testing.T) {
			table := heldBy(rowsOf(fit, 11)).next(began, rowsOf(fit, 11))
			for i, n := range []byte{12, 13} {
				fit[n] = slots.Fit
				table = table.next(began.Add(time.Duration(i)*tt.apart), rowsOf(fit, 11))
			}
			lost := 0
			for slot, owner := range table.slots.Owner {
				if owner != 0 && table.slots.Second[slot] != 0 {
					lost++
				}
			}
			assert.Equal(t, tt.found, lost == 0)
			delete(fit, 12)
			delete(fit, 13)
		})
	}
}

func TestSlotTableThatStaysIsTheSame(t *testing.T) {
	rows := rowsOf(map[byte]slots.Condition{11: slots.Fit, 12: slots.Keeps}, 11)
	first := slotTable{}.next(time.Now(), rows)
	require.Same(t, first.slots, first.next(time.Now(), rows).slots)
}
