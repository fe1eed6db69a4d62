package trial

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

// Spread is the distribution of one figure.
type Spread struct {
	N                int
	Median, Min, Max time.Duration
}

// SpreadOf computes the distribution; the zero value stands for no figures.
func SpreadOf(values []time.Duration) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	v := slices.Sorted(slices.Values(values))
	return Spread{N: len(v), Median: (v[(len(v)-1)/2] + v[len(v)/2]) / 2, Min: v[0], Max: v[len(v)-1]}
}

// String is "median (min-max)" in milliseconds.
func (s Spread) String() string {
	switch {
	case s.N == 0:
		return "-"
	case s.Min == s.Max:
		return lab.Milliseconds(s.Median)
	}
	return fmt.Sprintf("%s (%s-%s)", lab.Milliseconds(s.Median), lab.Milliseconds(s.Min), lab.Milliseconds(s.Max))
}

// Rounded is the same in whole milliseconds.
func (s Spread) Rounded() string {
	whole := func(d time.Duration) int64 { return d.Round(time.Millisecond).Milliseconds() }
	switch {
	case s.N == 0:
		return "-"
	case whole(s.Min) == whole(s.Max):
		return fmt.Sprint(whole(s.Median))
	}
	return fmt.Sprintf("%d (%d-%d)", whole(s.Median), whole(s.Min), whole(s.Max))
}

// Figure picks a figure out of a result.
type Figure func(*Result) time.Duration

// Of is the distribution of a figure over results; negative ones are absent.
func Of(results []*Result, figure Figure) Spread {
	var values []time.Duration
	for _, r := range results {
		if v := figure(r); v >= 0 {
			values = append(values, v)
		}
	}
	return SpreadOf(values)
}

// The figures of a table.
var (
	Outage   Figure = func(r *Result) time.Duration { return r.Outage }
	Answered Figure = func(r *Result) time.Duration { return r.Answered }
	Excess   Figure = func(r *Result) time.Duration { return max(r.Excess, 0) }
	Announce Figure = func(r *Result) time.Duration { return r.Announce }
	Two      Figure = func(r *Result) time.Duration { return r.Two }
	Seen     Figure = func(r *Result) time.Duration { return r.Seen }
	HTTPS    Figure = func(r *Result) time.Duration { return r.HTTPS }
)

// Row is a line of a table: results of one fault with one product.
type Row struct {
	Name    string
	Product string
	Results []*Result
	LeftOut []*Result // runs whose figures do not count because the machine itself stood still
	Verdict string    // "" without limits
	Note    string    // figures without a column, and what was left out
}

// Add takes in a run: for the figures, or as one that was left out.
func (r *Row) Add(res *Result) {
	if res.Disturbed() {
		r.LeftOut = append(r.LeftOut, res)
		return
	}
	r.Results = append(r.Results, res)
}

// Omitted tells what was left out, and why; "" if nothing was.
func (r Row) Omitted() string {
	if len(r.LeftOut) == 0 {
		return ""
	}
	parts := make([]string, len(r.LeftOut))
	for i, res := range r.LeftOut {
		parts[i] = fmt.Sprintf("outage %s ms, two answering %s ms, takeovers %d (%s ms)", lab.Milliseconds(res.Outage), lab.Milliseconds(res.Two), res.Takeovers, lab.Milliseconds(res.Stall))
	}
	return fmt.Sprintf("%d runs left out, because the machine stood still for more than %s ms: %s", len(parts), lab.Milliseconds(stillLimit), strings.Join(parts, ", "))
}

// Takeovers counts results by number of takeovers: "1" or "18 x 1, 2 x 2".
func (r Row) Takeovers() string {
	counts := map[int]int{}
	for _, res := range r.Results {
		counts[res.Takeovers]++
	}
	keys := make([]int, 0, len(counts))
	for k := range counts {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	if len(keys) == 1 {
		return fmt.Sprint(keys[0])
	}
	var parts []string
	for _, k := range keys {
		parts = append(parts, fmt.Sprintf("%d x %d", counts[k], k))
	}
	return strings.Join(parts, ", ")
}

// Print writes rows as a table; times are milliseconds, "median (min-max)".
func Print(w io.Writer, rows []Row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "fault\tproduct\tn\toutage ms\tother answers ms\tbeyond protocol ms\ttakeovers\ttwo answering ms\tbind to announce ms\trequests failing ms\tleft out\tverdict\tnotes")
	for _, r := range rows {
		https := Of(r.Results, HTTPS).String()
		if !slices.ContainsFunc(r.Results, func(res *Result) bool { return res.Report != nil && len(res.Report.HTTPS) > 0 }) {
			https = "-"
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n", r.Name, r.Product, len(r.Results),
			Of(r.Results, Outage), Of(r.Results, Answered), Of(r.Results, Excess), r.Takeovers(), Of(r.Results, Two), Of(r.Results, Announce), https, len(r.LeftOut), r.Verdict, r.Note)
	}
	return t.Flush()
}
