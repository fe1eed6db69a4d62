package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/chart"
	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// growthRuns is how often each size is measured: the median counts.
const growthRuns = 3

// grownRow is one size of one kind.
type grownRow struct {
	count int
	trial.Grown
}

// growthFigures are the columns, with what grows in proportion where the work does.
var growthFigures = []struct {
	name, unit string
	of         func(trial.Grown) float64
}{
	{"processor", "%", func(g trial.Grown) float64 { return g.CPU }},
	{"memory", "MiB", func(g trial.Grown) float64 { return g.Memory }},
	{"failover", "ms", func(g trial.Grown) float64 { return float64(g.Failover) / float64(time.Millisecond) }},
	{"handover", "ms", func(g trial.Grown) float64 { return float64(g.Handover) / float64(time.Millisecond) }},
}

// growth measures what grows with what, of that which is wanted, and prints it. When it was everything it writes growth.md into dir, and the curves
// into the folder of pictures there.
func growth(host *lab.Host, o options, dir string, out io.Writer) error {
	all, whole := map[string][]grownRow{}, true
	var failed []string
	for _, g := range trial.Growths() {
		for _, count := range g.Counts {
			name := fmt.Sprintf("%s %d", g.Name, count)
			if !o.only.MatchString(name) {
				whole = false
				continue
			}
			row, err := grownAt(host, g, count, cmp.Or(o.runs, growthRuns))
			if err != nil {
				failed = append(failed, name)
				fmt.Fprintf(out, "%s: FAILED: %v\n", name, err)
				continue
			}
			fmt.Fprintf(out, "%s: %s\n", name, row)
			all[g.Name] = append(all[g.Name], row)
		}
	}
	switch {
	case len(failed) > 0:
		return fmt.Errorf("bench: growth: nothing is written: %s failed", strings.Join(failed, ", "))
	case !whole:
		return nil
	}
	return writeGrowth(dir, trial.Growths(), all, cmp.Or(o.runs, growthRuns))
}

// grownAgain is how many runs of one size may have no figures, because the machine stood still, before that is an error.
const grownAgain = 2

// grownAt is the median of each figure over all runs.
func grownAt(host *lab.Host, g trial.Growth, count, runs int) (grownRow, error) {
	var seen []trial.Grown
	for tries := 1; len(seen) < runs; tries++ {
		one, err := g.Measure(host, count)
		switch {
		case err == nil:
			seen = append(seen, one)
		case tries-len(seen) > grownAgain:
			return grownRow{}, err
		}
	}
	return grownRow{count, medianOf(seen)}, nil
}

func medianOf(seen []trial.Grown) trial.Grown {
	return trial.Grown{
		CPU:      median(seen, func(g trial.Grown) float64 { return g.CPU }),
		Memory:   median(seen, func(g trial.Grown) float64 { return g.Memory }),
		Failover: median(seen, func(g trial.Grown) time.Duration { return g.Failover }),
		Handover: median(seen, func(g trial.Grown) time.Duration { return g.Handover }),
	}
}

func median[T cmp.Ordered](seen []trial.Grown, of func(trial.Grown) T) T {
	var all []T
	for _, g := range seen {
		all = append(all, of(g))
	}
	slices.Sort(all)
	return all[(len(all)-1)/2]
}

// String lists the figures.
func (r grownRow) String() string {
	var parts []string
	for _, f := range growthFigures {
		parts = append(parts, fmt.Sprintf("%s %s %s", f.name, shown(f.of(r.Grown)), f.unit))
	}
	return strings.Join(parts, ", ")
}

// shown has one digit after the point below 100, and none above.
func shown(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.1f", v)
}

func writeGrowth(dir string, growths []trial.Growth, all map[string][]grownRow, runs int) (err error) {
	defer try.Say(&err, "bench: growth")
	var b strings.Builder
	times := fmt.Sprintf("%d times", runs)
	if runs == 1 {
		times = "once"
	}
	fmt.Fprintf(&b, growthBegin, times)
	for _, g := range growths {
		rows := all[g.Name]
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n![%s](pictures/growth-%s.svg)\n\n%s", title(g.Name), folded(g.How), growthTitle(g), g.Name, growthTable(g.Of, rows))
		fmt.Fprintf(&b, "\n%s\n", folded(growthText(g.Of, rows)))
		try.Do(os.WriteFile(filepath.Join(dir, "pictures", "growth-"+g.Name+".svg"), []byte(growthCurves(g, rows)), 0o644))
	}
	try.Do(os.WriteFile(filepath.Join(dir, "growth.md"), []byte(b.String()), 0o644))
	return nil
}

const growthBegin = `# Growth

How processor, memory, failover and handover of keepvip grow with the size of a cluster. ` + "`make bench-growth`" + ` measures it
and writes this page: each size %s in network namespaces on one machine, with advertisements every 100 ms, and the
median counts. All nodes, clients and servers share that machine, so absolute figures are of it, and the shape of the
curves is of keepvip. A part is measured by ` + "`BENCHFLAGS='-only \"nodes 3\" -runs 1'`" + `, which prints the figures and writes
nothing.

- **processor**: of the busiest daemon beside which nothing happens, in per cent of one processor, over ten seconds.
- **memory**: resident (VmRSS) of the daemon that has most.
- **failover**: how long a client has no answer when the holder's node dies.
- **handover**: from ` + "`keepvip handover`" + ` until the next node answers, the start of the command included. Where connections are
  open: until the last client is told.
`

func title(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

func growthTitle(g trial.Growth) string {
	if g.Name == g.Of {
		return "Growth with " + g.Of
	}
	return "Growth with " + g.Name + " " + g.Of
}

func growthTable(of string, rows []grownRow) string {
	head, lines := []string{of}, make([][]string, len(rows))
	for _, f := range growthFigures {
		head = append(head, f.name+" "+f.unit)
	}
	for i, r := range rows {
		lines[i] = []string{fmt.Sprint(r.count)}
		for _, f := range growthFigures {
			lines[i] = append(lines[i], shown(f.of(r.Grown)))
		}
	}
	return markdown(head, lines)
}

// growthText says of each figure how much it grows from the least size to the most.
func growthText(of string, rows []grownRow) string {
	first, last := rows[0], rows[len(rows)-1]
	times := float64(last.count) / float64(first.count)
	var parts []string
	for _, f := range growthFigures {
		before, after := f.of(first.Grown), f.of(last.Grown)
		switch {
		case before <= 0:
			parts = append(parts, fmt.Sprintf("%s from %s to %s %s", f.name, shown(before), shown(after), f.unit))
		case after/before > times:
			parts = append(parts, fmt.Sprintf("%s %s times, **more than linear**", f.name, shown(after/before)))
		default:
			parts = append(parts, fmt.Sprintf("%s %s times", f.name, shown(after/before)))
		}
	}
	return fmt.Sprintf("%s times as many %s: %s.", shown(times), of, strings.Join(parts, "; "))
}

func growthCurves(g trial.Growth, rows []grownRow) string {
	var counts []int
	curves := make([]chart.Curve, len(growthFigures))
	for i, f := range growthFigures {
		curves[i].Name = f.name + ", " + f.unit
	}
	for _, r := range rows {
		counts = append(counts, r.count)
		for i, f := range growthFigures {
			v := f.of(r.Grown)
			if v < 0 {
				v = math.NaN()
			}
			curves[i].Values = append(curves[i].Values, v)
		}
	}
	return chart.Curves(growthTitle(g), g.Of, counts, curves)
}

// folded breaks a text into lines as long as those of the other documents.
func folded(text string) string {
	const most = 118
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > most {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return strings.Join(append(lines, line), "\n")
}
