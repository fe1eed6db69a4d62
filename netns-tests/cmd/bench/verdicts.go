package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// notJudged begins the verdict of what says nothing about the product.
const notJudged = "NOT JUDGED"

// count is how many cases there were, and how they ended.
type count struct{ cases, over, notJudged int }

// add counts a case by its verdict; "" is that of one without limits.
func (n *count) add(verdict string) {
	n.cases++
	switch {
	case strings.HasPrefix(verdict, notJudged):
		n.notJudged++
	case verdict != "" && verdict != "ok":
		n.over++
	}
}

func (n count) plus(m count) count {
	return count{cases: n.cases + m.cases, over: n.over + m.over, notJudged: n.notJudged + m.notJudged}
}

// String is the last line of the output.
func (n count) String() string {
	return fmt.Sprintf("%d cases, %d over their limits or failed, %d not judged because the machine stood still", n.cases, n.over, n.notJudged)
}

// err is an error if something is over its limits, or if nothing could be judged.
func (n count) err() error {
	switch {
	case n.over > 0:
		return fmt.Errorf("bench: %d of %d cases over their limits or failed", n.over, n.cases)
	case n.cases > 0 && n.notJudged == n.cases:
		return errors.New("bench: nothing could be judged: the machine stood still")
	}
	return nil
}

// judged gives the row its verdict: what must never be counts in all runs, figures in those alone in which the machine ran.
func (c benchCase) judged(row trial.Row) trial.Row {
	row.Verdict = c.limits.judge(row.Results)
	if row.Verdict == "ok" && len(row.Results) == 0 {
		row.Verdict = notJudged + ": the machine stood still in each run"
	}
	for _, r := range row.LeftOut {
		if broken := c.limits.broken(r, c.config.StallCost()); broken != "" {
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

// broken judges what no standstill of the machine excuses, in a run whose figures are left out. Two may answer for longer by as much as
// the machine was measured to have stood still around that time: questions that wait for it are answered late. The address may be away
// for longer by that, too, and by what one standstill costs.
func (l limits) broken(r *trial.Result, cost time.Duration) string {
	beyond := func(what string, got, limit, room time.Duration) string {
		if got <= limit+room {
			return ""
		}
		return fmt.Sprintf("OVER: %s %s ms in a run that was left out, limit %s and %s of the machine's", what, lab.Milliseconds(got), lab.Milliseconds(limit), lab.Milliseconds(room))
	}
	var found []string
	switch {
	case l.two == noTwo:
		found = append(found, beyond("two answering", r.Two, time.Millisecond, r.TwoRoom))
	case l.two > 0:
		found = append(found, beyond("two answering", r.Two, l.two, r.TwoRoom))
	}
	if l.lossless > 0 || l.recovered > 0 {
		found = append(found, beyond("two answering ARP or ND", r.Finders, l.finders, r.FindersRoom), beyond("the same after the network is whole again", r.Healing, l.healing, r.HealingRoom))
	}
	for _, away := range []struct {
		what             string
		got, limit, room time.Duration
	}{
		{"worst outage", r.Outage, l.outageWorst, r.OutageRoom},
		{"worst of failing requests", r.HTTPS, l.requestsWorst, r.HTTPSRoom},
		{"one holder again after", r.Recovered, l.recovered, r.RecoveredRoom},
	} {
		if away.limit > 0 {
			found = append(found, beyond(away.what, away.got, away.limit, away.room+cost))
		}
	}
	if r.NotJudged == "" {
		silence := l.silence
		silence.gone = 0 // when the address is gone is a figure
		found = append(found, silence.over([]*trial.Result{r}))
		if l.lastIsTaker && r.Announcer != r.Taker {
			found = append(found, fmt.Sprintf("OVER: n%d announced last, n%d holds", r.Announcer, r.Taker))
		}
	}
	for _, f := range found {
		if f != "" {
			return f
		}
	}
	return ""
}
