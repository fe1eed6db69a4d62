package lab

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// event is a line of the printed timeline.
type event struct {
	at   time.Duration
	who  string
	what string
}

// timeline are the events of a report.
type timeline struct {
	*Report
	events []event
}

func (t *timeline) add(at time.Duration, who, format string, args ...any) {
	t.events = append(t.events, event{at, who, fmt.Sprintf(format, args...)})
}

// Timeline prints what happened from zero on, times relative to it: the marks,
// who advertised, bound and announced, and what the client noticed.
func (r *Report) Timeline(w io.Writer, zero time.Duration) {
	t := timeline{Report: r}
	for _, m := range r.Marks {
		t.add(m.At, "*", "%s%s", strings.ToUpper(m.Text[:1]), m.Text[1:])
	}
	t.addAdverts()
	for _, b := range r.Binds {
		t.add(b.At, label(b.Node), "address %s: %s", map[bool]string{true: "bound", false: "removed"}[b.Added], b.Address)
	}
	t.addAnnouncements()
	t.addClients()
	slices.SortStableFunc(t.events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	for _, e := range t.events {
		if e.at >= zero-150*time.Millisecond {
			fmt.Fprintf(w, "  %+10.1f ms  %-7s %s\n", milliseconds(e.at-zero), e.who, e.what)
		}
	}
	if stall := r.StallIn(0, r.Ended); stall > 0 {
		fmt.Fprintf(w, "  (the machine itself stood still for up to %s ms; load %.1f)\n", Milliseconds(stall), r.Load)
	}
}

// addAdverts shows the first advertisement of a spell, changes of priority,
// and the last one before silence.
func (t *timeline) addAdverts() {
	type key struct {
		node int
		router
	}
	last := map[key]Advert{}
	const silence = 3
	quiet := func(a Advert) {
		t.add(a.At, label(a.Node), "last advertisement (VRID %d, priority %d)", a.VRID, a.Priority)
	}
	for _, a := range t.Adverts {
		k := key{a.Node, a.router()}
		before, seen := last[k]
		if gap := a.At - before.At; seen && gap > silence*max(before.Interval, 10*time.Millisecond) {
			quiet(before)
			seen = false
		}
		switch {
		case !seen:
			t.add(a.At, label(a.Node), "advertises (VRRPv%d, VRID %d, priority %d, every %v)", a.Version, a.VRID, a.Priority, a.Interval)
		case a.Priority != before.Priority:
			t.add(a.At, label(a.Node), "advertises priority %d (was %d)", a.Priority, before.Priority)
		}
		last[k] = a
	}
	for _, a := range last {
		if t.Ended-a.At > silence*max(a.Interval, 10*time.Millisecond)+200*time.Millisecond {
			quiet(a)
		}
	}
}

// addAnnouncements joins the announcements of a burst.
func (t *timeline) addAnnouncements() {
	for rest := t.Announcements; len(rest) > 0; {
		first, counts, end := rest[0], map[string]int{}, 0
		for ; end < len(rest) && rest[end].Node == first.Node && rest[end].At-rest[max(end-1, 0)].At <= 50*time.Millisecond; end++ {
			counts[rest[end].Kind]++
		}
		var parts []string
		for _, kind := range []string{KindARPRequest, KindARPReply, KindNA} {
			if counts[kind] > 0 {
				parts = append(parts, fmt.Sprintf("%d x %s", counts[kind], kind))
			}
		}
		t.add(first.At, label(first.Node), "announces the address: %s", strings.Join(parts, ", "))
		rest = rest[end:]
	}
}

func (t *timeline) addClients() {
	for _, s := range slices.Concat(t.Streams, t.HTTPS) {
		for _, o := range s.Outages {
			if o.Length >= 5*time.Millisecond {
				t.add(o.At, s.Client, "no answer from %s", s.Target)
				t.add(o.End, s.Client, "answered again after %s ms (%d lost)", Milliseconds(o.Length), o.Lost)
			}
		}
		for _, c := range s.Changes {
			t.add(c.At, s.Client, "%s is now answered by %s (was %s)", s.Target, label(c.To), label(c.From))
		}
	}
}

func label(node int) string { return fmt.Sprintf("n%d", node) }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Milliseconds writes a duration for a table: one decimal below 100 ms.
func Milliseconds(d time.Duration) string {
	if d < 100*time.Millisecond && d > -100*time.Millisecond {
		return fmt.Sprintf("%.1f", milliseconds(d))
	}
	return fmt.Sprintf("%.0f", milliseconds(d))
}
