package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// floodLength is how long each flood lasts.
const floodLength = 5 * time.Second

// floods runs what bears the name of a flood, once, and prints a table of its own.
func floods(host *lab.Host, o options, out io.Writer, counted *count) error {
	begun := false
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, f := range trial.Floods() {
		if !o.only.MatchString("flood: " + f.Name) {
			continue
		}
		if !begun {
			begun = true
			fmt.Fprintln(t, "flood\ta second\tprocessor %\tmemory MiB\tlog lines\ttransitions\tsilent ms\ttwo answering ms\ttimer late ms\tothers served\tstill in a second ms\tverdict")
		}
		var found trial.Flooded
		stood, err := lab.StoodStill(func() (err error) { found, err = f.Run(host, floodLength); return err })
		verdict := verdictOf(found.Findings(), stood, err)
		counted.add(verdict)
		fmt.Fprintf(os.Stderr, "flood: %s: %s %s\n", f.Name, found.Findings(), verdict)
		fmt.Fprintf(t, "%s\t%.0f\t%.1f\t%.1f\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n", f.Name, found.Rate, found.CPU, mib(found.RSS), found.Lines, found.Transitions,
			lab.Milliseconds(found.Silent), lab.Milliseconds(found.Two), lab.Milliseconds(found.Late), besideOf(found), lab.Milliseconds(stood), strings.Split(verdict, "\n")[0])
	}
	return t.Flush()
}

// besideOf is how many of those who asked beside the flood were served.
func besideOf(f trial.Flooded) string {
	if f.Asked == 0 {
		return "-"
	}
	return fmt.Sprintf("%d of %d", f.Served, f.Asked)
}
