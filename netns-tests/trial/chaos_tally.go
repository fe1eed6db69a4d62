package trial

import (
	"fmt"
	"io"
)

// Tally counts episodes by what they have shown. One in which something was slow while the machine stood still is left out.
type Tally struct{ Episodes, Wrong, LeftOut int }

// Add counts an episode.
func (t *Tally) Add(r *EpisodeResult) {
	t.Episodes++
	switch {
	case len(r.Wrong) > 0, len(r.Slow) > 0 && !r.Disturbed():
		t.Wrong++
	case len(r.Slow) > 0:
		t.LeftOut++
	}
}

// Decides tells whether at least half of the episodes count: a run in which they do not has shown nothing.
func (t *Tally) Decides() bool { return 2*t.LeftOut <= t.Episodes }

// Print writes a line that counts all of them.
func (t *Tally) Print(w io.Writer) {
	fmt.Fprintf(w, "%d episodes, %d wrong, %d left out because the machine stood still for more than %d ms within a second\n",
		t.Episodes, t.Wrong, t.LeftOut, starvedChaos.Milliseconds())
}
