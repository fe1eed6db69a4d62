package trial

import (
	"fmt"
	"io"
)

// Tally counts episodes by what they have shown. One that is undecided is neither right nor wrong, and is told at the end.
type Tally struct {
	Episodes, Wrong int
	undecided       []string // a line each
}

// Add counts an episode.
func (t *Tally) Add(r *EpisodeResult) {
	t.Episodes++
	switch {
	case len(r.Wrong) > 0:
		t.Wrong++
	case len(r.Undecided) > 0:
		which := fmt.Sprintf("seed %d, episode %d", r.Seed, r.Index)
		if r.Seed == 0 { // one that has found something once, and belongs to no seed any more
			which = r.What
		}
		t.undecided = append(t.undecided, fmt.Sprintf("undecided: %s: %s", which, r.stood()))
	}
}

// Undecided is how many episodes are neither right nor wrong.
func (t *Tally) Undecided() int { return len(t.undecided) }

// Decides tells whether at least half of the episodes are right or wrong: a run in which they are not has shown nothing.
func (t *Tally) Decides() bool { return 2*t.Undecided() <= t.Episodes }

// Print writes a line for each episode that is undecided, and one that counts all of them.
func (t *Tally) Print(w io.Writer) {
	for _, line := range t.undecided {
		fmt.Fprintln(w, line)
	}
	fmt.Fprintf(w, "%d episodes, %d wrong, %d undecided because the machine stood still\n", t.Episodes, t.Wrong, t.Undecided())
}
