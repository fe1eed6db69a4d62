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

// Timeline prints what happened from zero on, times relative to it: the marks,
// who advertised, bound and announced, and what the client noticed.
func (r *Report) Timeline(w io.Writer, zero time.Duration) {
	events := slices.Concat(r.markEvents(), r.advertEvents(), r.bindEvents(), r.announcementEvents(), r.clientEvents())
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	for _, e := range events {
		if e.at < zero-150*time.Millisecond {
			continue
		}
		fmt.Fprintf(w, "  %+10.1f ms  %-7s %s\n", milliseconds(e.at-zero), e.who, e.what)
	}
	if stall := r.StallIn(0, r.Ended); stall > 0 {
		fmt.Fprintf(w, "  (the machine itself stood still for up to %s ms; load %.1f)\n", Milliseconds(stall), r.Load)
	}
}

func (r *Report) markEvents() []event {
	var events []event
	for _, m := range r.Marks {
		events = append(events, event{m.At, "*", strings.ToUpper(m.Text[:1]) + m.Text[1:]})
	}
	return events
}

func (r *Report) bindEvents() []event {
	var events []event
	for _, b := range r.Binds {
		what := "address removed: "
		if b.Added {
			what = "address bound: "
		}
		events = append(events, event{b.At, label(b.Node), what + b.Address.String()})
	}
	return events
}

// advertEvents shows the first advertisement of a spell, changes of priority,
// and the last one before silence.
func (r *Report) advertEvents() []event {
	var events []event
	type key struct {
		node, vrid int
		v6         bool
	}
	last := map[key]Advert{}
	const silence = 3
	quiet := func(a Advert) event {
		return event{a.At, label(a.Node), fmt.Sprintf("last advertisement (VRID %d, priority %d)", a.VRID, a.Priority)}
	}
	for _, a := range r.Adverts {
		k := key{a.Node, a.VRID, a.Source.Is6()}
		before, seen := last[k]
		if gap := a.At - before.At; seen && gap > silence*max(before.Interval, 10*time.Millisecond) {
			events = append(events, quiet(before))
			seen = false
		}
		switch {
		case !seen:
			events = append(events, event{a.At, label(a.Node), fmt.Sprintf("advertises (VRRPv%d, VRID %d, priority %d, every %v)", a.Version, a.VRID, a.Priority, a.Interval)})
		case a.Priority != before.Priority:
			events = append(events, event{a.At, label(a.Node), fmt.Sprintf("advertises priority %d (was %d)", a.Priority, before.Priority)})
		}
		last[k] = a
	}
	for _, a := range last {
		if r.Ended-a.At > silence*max(a.Interval, 10*time.Millisecond)+200*time.Millisecond {
			events = append(events, quiet(a))
		}
	}
	return events
}

// announcementEvents joins the announcements of a burst.
func (r *Report) announcementEvents() []event {
	var events []event
	for i := 0; i < len(r.Announcements); {
		first := r.Announcements[i]
		counts, end := map[string]int{}, i
		for ; end < len(r.Announcements); end++ {
			a := r.Announcements[end]
			if a.Node != first.Node || end > i && a.At-r.Announcements[end-1].At > 50*time.Millisecond {
				break
			}
			counts[a.Kind]++
		}
		var parts []string
		for _, kind := range []string{KindARPRequest, KindARPReply, KindNA} {
			if counts[kind] > 0 {
				parts = append(parts, fmt.Sprintf("%d x %s", counts[kind], kind))
			}
		}
		events = append(events, event{first.At, label(first.Node), "announces the address: " + strings.Join(parts, ", ")})
		i = end
	}
	return events
}

func (r *Report) clientEvents() []event {
	var events []event
	for _, s := range slices.Concat(r.Streams, r.HTTPS) {
		for _, o := range s.Outages {
			if o.Length < 5*time.Millisecond {
				continue
			}
			events = append(events, event{o.At, s.Client, fmt.Sprintf("no answer from %s", s.Target)})
			events = append(events, event{o.End, s.Client, fmt.Sprintf("answered again after %s ms (%d lost)", Milliseconds(o.Length), o.Lost)})
		}
		for _, c := range s.Changes {
			events = append(events, event{c.At, s.Client, fmt.Sprintf("%s is now answered by %s (was %s)", s.Target, label(c.To), label(c.From))})
		}
	}
	return events
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
