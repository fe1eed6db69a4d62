package main

import (
	"bytes"
	"cmp"
	"errors"
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

// rivalry is one fault, and the products that can take part in it.
type rivalry struct {
	name    string
	says    string // what happens
	runs    int
	fault   trial.Fault
	own     trial.Fault // the same for keepvip, where that is over sooner; nil: fault
	config  trial.Config
	addrs   int // more than one address in the election
	figure  trial.Figure
	drawn   bool              // in the picture
	calm    bool              // the address should not move at all
	shared  bool              // all products have one VRID, at which the fault aims
	without map[string]string // products that cannot, and why
}

// compared are the products in the order of the table.
func compared() []trial.Product {
	return []trial.Product{trial.Keepvip{}, trial.Raft{}, trial.Keepalived{}, trial.VRRPd{}, trial.UCARP{}, trial.LeaseVIP{}}
}

// nameOf is how the page calls a product.
func nameOf(p trial.Product) string {
	if _, elects := p.(trial.Raft); elects {
		return "keepvip, Raft"
	}
	return p.Name()
}

// rivalries are all faults of the comparison. Every product has the same three nodes, ranks and interval.
func rivalries() []rivalry {
	ranked := trial.Config{Priorities: []int{200, 150, 100}}
	follows := trial.Config{Priorities: []int{101, 100, 100}, API: true} // those of kubeadm's guide, whose check takes 2 off
	noCheck := map[string]string{"FRR vrrpd": "no check", "ucarp": "no check", "kube-vip": "no check"}
	otherPackets := map[string]string{"keepvip, Raft": "other packets", "ucarp": "other packets", "kube-vip": "other packets"}
	out := []rivalry{
		{name: "node death", says: "the holder's node dies", runs: 20, fault: trial.NodeDeath, config: ranked, figure: trial.Outage, drawn: true},
		{name: "daemon killed", says: "the holder's daemon is killed (SIGKILL)", runs: 20, fault: trial.DaemonKilled, config: ranked, figure: trial.Outage, drawn: true},
		{name: "daemon frozen", says: "the holder's daemon stands still for 5 s (SIGSTOP)", runs: 20, fault: trial.Frozen(5 * time.Second), config: ranked, figure: trial.Outage, drawn: true},
		{name: "SIGTERM", says: "the holder's daemon is told to end (SIGTERM)", runs: 20, fault: trial.Terminated, config: ranked, figure: trial.Outage, drawn: true},
		{name: "cable pulled", says: "the holder's cable is pulled", runs: 20, fault: trial.CablePulled, config: ranked, figure: trial.Outage},
		{name: "partition", says: "the holder is cut off for 10 s, and is back", runs: 5, fault: trial.Partition(10 * time.Second), config: ranked, figure: trial.Outage},
		{name: "loss", says: "20 % of the election's packets from the holder are lost for 60 s", runs: 5, fault: trial.Lossy(20, time.Minute), config: ranked, figure: trial.Outage, calm: true, without: map[string]string{"keepvip, Raft": "other packets", "kube-vip": "other packets"}},
		{name: "deaf", says: "nothing arrives at the holder any more, for 5 s", runs: 5, fault: trial.ToHolder("deaf", 5*time.Second), config: ranked, figure: trial.Outage},
	}
	out = append(out, []rivalry{
		{name: "busy processors", says: "8 loops of short programs on each processor for 20 s", runs: 5, fault: trial.Busy(8, 20*time.Second), config: ranked, figure: trial.Outage, calm: true},
		{name: "junk", says: "20,000 packets a second that VRRP has to drop, for 10 s", runs: 5, fault: trial.Junk(trial.JunkMixed, 20_000, 10*time.Second), config: ranked, figure: trial.Outage, calm: true, shared: true, without: otherPackets},
		{name: "forgery", says: "a stranger advertises priority 255 for 5 s", runs: 5, fault: trial.Forged(5 * time.Second), config: ranked, figure: trial.Outage, calm: true, shared: true, without: otherPackets},
	}...)
	for _, count := range []int{16, 255, 1000} {
		name := fmt.Sprintf("%d addresses", count)
		out = append(out, rivalry{
			name: name, says: "the holder of " + name + " dies", runs: 5, fault: trial.NodeDeath, config: ranked, addrs: count, figure: trial.Outage,
			without: map[string]string{"FRR vrrpd": map[bool]string{true: "255 at most"}[count > 255], "kube-vip": "not tried"},
		})
	}
	return append(out, []rivalry{
		{name: "apiserver killed", says: "the holder's apiserver is killed", runs: 5, fault: trial.APIIll(lab.APIRefuse, "", 45*time.Second), own: trial.APIIll(lab.APIRefuse, "", 15*time.Second), config: follows, figure: trial.HTTPS, without: noCheck, drawn: true},
		{name: "apiserver 500", says: "the holder's apiserver answers 500", runs: 5, fault: trial.APIIll(lab.API500, "", 45*time.Second), own: trial.APIIll(lab.API500, "", 15*time.Second), config: follows, figure: trial.HTTPS, without: noCheck},
		{name: "apiserver hangs", says: "the holder's apiserver does not answer", runs: 5, fault: trial.APIIll(lab.APIHang, "", 60*time.Second), own: trial.APIIll(lab.APIHang, "", 15*time.Second), config: follows, figure: trial.HTTPS, without: noCheck},
		{name: "idle", says: "nothing happens", runs: 3, fault: trial.Idle(20 * time.Second), config: ranked},
	}...)
}

// cases is the rivalry as one case of the bench for each product that can take part.
func (r rivalry) cases() []benchCase {
	var all []benchCase
	for _, p := range compared() {
		if r.without[nameOf(p)] == "" {
			all = append(all, r.caseOf(p))
		}
	}
	return all
}

// round is how often one product has its turn before the next one has: what changes on the machine meets all of them.
const round = 5

// compare measures the products side by side, of that which is wanted, and prints it. When it was everything, it writes the page and the
// picture into dir. With -from it measures nothing, and takes the results from there.
func compare(host *lab.Host, o options, dir, from string, out io.Writer) (err error) {
	defer try.Catch(&err)
	if from != "" {
		return writeComparison(dir, try.Get(readResults(from)))
	}
	rows, whole := map[string]trial.Row{}, true
	var failed error
	for _, r := range rivalries() {
		cases := r.cases()
		wanted := slices.DeleteFunc(slices.Clone(cases), func(c benchCase) bool { return !o.only.MatchString(r.title(c.product())) })
		whole = whole && len(wanted) == len(cases)
		runs := cmp.Or(o.runs, r.runs)
		for done := 0; done < runs; done += round {
			for _, c := range wanted {
				if _, kubevip := c.product().(trial.LeaseVIP); kubevip && trial.KubeVIPBinary() == "" {
					continue // it takes part where it was built
				}
				turn := o
				turn.runs = min(round, runs-done)
				row, err := c.repeat(host, turn)
				if err != nil {
					failed = errors.Join(failed, fmt.Errorf("bench: %s: %w", r.title(c.product()), err))
				}
				all := rows[c.key()]
				all.Results, all.LeftOut = append(all.Results, row.Results...), append(all.LeftOut, row.LeftOut...)
				rows[c.key()] = all
			}
		}
		for _, c := range wanted {
			fmt.Fprintf(out, "%s: %s\n", r.title(c.product()), r.line(rows[c.key()]))
		}
	}
	if failed != nil || !whole {
		return failed
	}
	return writeComparison(dir, rows)
}

// title names what a product goes through.
func (r rivalry) title(p trial.Product) string { return nameOf(p) + ": " + r.name }

// caseOf is the same as a case of the bench.
func (r rivalry) caseOf(p trial.Product) benchCase {
	cfg := r.config
	cfg.Product = p
	switch p.(type) {
	case trial.Raft:
		cfg.Priorities = nil // it has none
	case trial.UCARP:
		cfg.Interval = time.Second
	case trial.LeaseVIP:
		cfg.Priorities, cfg.Interval = nil, time.Second // its waits are of seconds
	}
	c := benchCase{name: "compared: " + r.title(p), runs: r.runs, fault: r.fault, config: cfg}
	if r.own != nil && strings.HasPrefix(nameOf(p), trial.Keepvip{}.Name()) {
		c.fault = r.own
	}
	switch {
	case r.addrs > 1:
		c.open = func(h *lab.Host) (*trial.Group, error) { return trial.OpenAddresses(h, cfg, r.addrs) }
	case r.shared:
		c.open = sharedVRID(cfg)
	}
	return c
}

// line is a row for whoever waits.
func (r rivalry) line(row trial.Row) string {
	if r.figure == nil {
		return cost(row)
	}
	return fmt.Sprintf("%d runs, %s ms, two answering %s ms, moves %s", len(row.Results), trial.Of(row.Results, r.figure), trial.Of(row.Results, trial.Two), row.Takeovers())
}

// cost is the median processor time and resident memory.
func cost(row trial.Row) string {
	if len(row.Results) == 0 {
		return "-"
	}
	var cpu, rss []float64
	for _, res := range row.Results {
		cpu, rss = append(cpu, res.CPU), append(rss, mib(res.RSS))
	}
	slices.Sort(cpu)
	slices.Sort(rss)
	return fmt.Sprintf("%.1f %%, %.1f MiB", cpu[len(cpu)/2], rss[len(rss)/2])
}

// The part of the page between these lines is written by the command, the rest by hand.
const (
	measuredBegin = "<!-- measured: make %s writes up to the next such line -->\n"
	measuredEnd   = "<!-- measured ends -->\n"
)

func writeComparison(dir string, rows map[string]trial.Row) (err error) {
	defer try.Say(&err, "bench: -compare")
	try.Do(putMeasured(filepath.Join(dir, "comparison.md"), "bench-compare", comparisonTables(rows)))
	try.Do(os.WriteFile(filepath.Join(dir, "pictures", "comparison.svg"), []byte(comparisonPicture(rows)), 0o644))
	return nil
}

// putMeasured puts figures into the place for them in a document, which a target of make has measured.
func putMeasured(path, by, figures string) (err error) {
	defer try.Catch(&err)
	page := try.Get(os.ReadFile(path))
	begin := fmt.Appendf(nil, measuredBegin, by)
	before, rest, begins := bytes.Cut(page, begin)
	_, after, ends := bytes.Cut(rest, []byte(measuredEnd))
	if !begins || !ends {
		return fmt.Errorf("%s lacks the lines between which the figures belong: %q and %q", path, begin, measuredEnd)
	}
	return os.WriteFile(path, slices.Concat(before, begin, []byte(figures), []byte(measuredEnd), after), 0o644)
}

// markdown is a table of a document.
func markdown(head []string, lines [][]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	for _, cells := range lines {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	return b.String()
}

// tells reports whether the figure of two nodes that answer means anything: where the address is bound on all nodes, each
// answers when asked directly.
func tells(p trial.Product) bool {
	_, virtual := p.(trial.VRRPd)
	return !virtual
}

// measured are the products of the table: kube-vip takes part where it was built.
func measured(rows map[string]trial.Row) []trial.Product {
	return slices.DeleteFunc(compared(), func(p trial.Product) bool {
		_, optional := p.(trial.LeaseVIP)
		return optional && len(rows[rivalries()[0].caseOf(p).key()].Results) == 0
	})
}

func comparisonTables(rows map[string]trial.Row) string {
	var b strings.Builder
	products := measured(rows)
	table := func(head string, of func(rivalry, trial.Product) string, which func(rivalry) bool) {
		heads, lines := []string{head, "runs"}, [][]string{}
		for _, p := range products {
			heads = append(heads, nameOf(p))
		}
		for _, r := range slices.DeleteFunc(rivalries(), func(r rivalry) bool { return !which(r) }) {
			most := 0
			for _, c := range r.cases() {
				most = max(most, len(rows[c.key()].Results))
			}
			line := []string{r.says, fmt.Sprint(most)}
			for _, p := range products {
				line = append(line, cmp.Or(r.without[nameOf(p)], of(r, p)))
			}
			lines = append(lines, line)
		}
		b.WriteString("\n" + markdown(heads, lines))
	}
	row := func(r rivalry, p trial.Product) trial.Row { return rows[r.caseOf(p).key()] }
	faults := func(r rivalry) bool { return r.figure != nil }
	table("clients have no answer, ms", func(r rivalry, p trial.Product) string { return trial.Of(row(r, p).Results, r.figure).Rounded() }, faults)
	table("two nodes answer, ms", func(r rivalry, p trial.Product) string {
		if !tells(p) {
			return "-"
		}
		return trial.Of(row(r, p).Results, trial.Two).Rounded()
	}, faults)
	table("the address moves, times in a run", func(r rivalry, p trial.Product) string {
		row := row(r, p)
		if len(row.Results) == 0 {
			return "-"
		}
		return row.Takeovers()
	}, func(r rivalry) bool { return r.calm })
	table("cost of the busiest node", func(r rivalry, p trial.Product) string { return cost(row(r, p)) }, func(r rivalry) bool { return !faults(r) })
	b.WriteByte('\n')
	return "\n![For how long clients have no answer, with each product](pictures/comparison.svg)\n" + b.String()
}

func comparisonPicture(rows map[string]trial.Row) string {
	var groups []chart.Bars
	for _, r := range rivalries() {
		if !r.drawn {
			continue
		}
		g := chart.Bars{Heading: r.says}
		for _, p := range measured(rows) {
			row := rows[r.caseOf(p).key()]
			bar := chart.Bar{Name: nameOf(p), Value: math.NaN(), Words: r.without[nameOf(p)], Own: p.Name() == trial.Keepvip{}.Name()}
			if s := trial.Of(row.Results, r.figure); s.N > 0 {
				bar.Value, bar.Words = float64(s.Median)/float64(time.Millisecond), s.Rounded()
			}
			g.Bars = append(g.Bars, bar)
		}
		groups = append(groups, g)
	}
	return chart.Horizontal("For how long clients have no answer", "ms, median (least to most), logarithmic", groups)
}
