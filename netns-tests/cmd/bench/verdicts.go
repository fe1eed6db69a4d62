package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// leftOut begins the verdict of what says nothing about the product.
const leftOut = "LEFT OUT"

// count is how many cases there were, and how they ended.
type count struct{ cases, over, leftOut int }

// add counts a case by its verdict; "" is that of one without limits.
func (n *count) add(verdict string) {
	n.cases++
	switch {
	case strings.HasPrefix(verdict, leftOut):
		n.leftOut++
	case verdict != "" && verdict != "ok":
		n.over++
	}
}

// String is the last line of the output.
func (n count) String() string {
	return fmt.Sprintf("%d cases, %d over their limits or failed, %d left out because the machine stood still", n.cases, n.over, n.leftOut)
}

// err is an error if something is over its limits, or if everything was left out.
func (n count) err() error {
	switch {
	case n.over > 0:
		return fmt.Errorf("bench: %d of %d cases over their limits or failed", n.over, n.cases)
	case n.cases > 0 && n.leftOut == n.cases:
		return errors.New("bench: everything was left out: the machine stood still")
	}
	return nil
}

// judged gives the row its verdict: what must never be counts in all runs, figures in those alone in which the machine ran.
func (c benchCase) judged(row trial.Row) trial.Row {
	row.Verdict = c.limits.judge(row.Results)
	if row.Verdict == "ok" && len(row.Results) == 0 {
		row.Verdict = leftOut + ": the machine stood still in each run"
	}
	for _, r := range row.LeftOut {
		if broken := c.limits.broken(r); broken != "" {
			row.Verdict = broken
			break
		}
	}
	row.Note = note(row.Results)
	if omitted := row.Omitted(); omitted != "" {
		row.Note = strings.TrimPrefix(row.Note+"; "+omitted, "; ")
	}
	return row
}

// broken judges what holds on any machine, in a run whose figures are left out: who answers and announces is read from the kernel's own times.
func (l limits) broken(r *trial.Result) string {
	silence := l.silence
	silence.gone = 0 // when the address is gone is a figure
	return cmp.Or(
		over(l.two == noTwo && r.Two > 0, "two answering %s ms in a run that was left out", lab.Milliseconds(r.Two)),
		over(l.lossless > 0 && r.Finders > 0, "two answering ARP or ND %s ms in a run that was left out", lab.Milliseconds(r.Finders)),
		silence.over(r),
		over(l.lastIsTaker && r.Announcer != r.Taker, "n%d announced last, n%d holds", r.Announcer, r.Taker),
	)
}
