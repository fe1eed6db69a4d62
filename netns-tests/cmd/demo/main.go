// Command demo shows keepvip at work: three nodes and a client in network
// namespaces, one floating address, and what a client loses when a node dies,
// an apiserver is killed and a cable is pulled. It needs root and the built
// binary, and leaves nothing behind.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
	"github.com/keepvip/keepvip/netns-tests/try"
)

func main() {
	file := flag.String("picture", "", "let a node die, and draw what happened into this file, as SVG")
	flag.Parse()
	host := lab.Enter()
	err := demo(host, *file, os.Stdout)
	host.Close()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type act struct {
	title string
	fault trial.Fault
}

// demo shows all acts, or draws the first of them into a file.
func demo(host *lab.Host, file string, out io.Writer) (err error) {
	defer try.Catch(&err)
	fmt.Fprintln(out, "Three nodes (10.77.0.11-13), each with an apiserver of its own, and a client on one bridge.")
	fmt.Fprintf(out, "All nodes run the same: keepvip run --vip %s\n\n", lab.VIP4)
	g := try.Get(trial.Open(host, trial.Config{API: true}))
	defer g.Close()
	try.Do(showHolder(g, out))
	if file != "" {
		return drawDeath(g, file, out)
	}
	var results []*trial.Result
	for _, a := range []act{
		{"The node that holds the address dies", trial.NodeDeath},
		{"The apiserver beside the address is killed", trial.APIKilled},
		{"Somebody pulls the cable of the holder", trial.CablePulled},
	} {
		fmt.Fprintf(out, "%s\n", a.title)
		res := try.Get(a.fault(g))
		res.Report.Timeline(out, res.FaultAt)
		fmt.Fprintln(out)
		results = append(results, res)
	}
	return summary(out, results)
}

// drawDeath lets the holder's node die. A run in which the machine itself stood still is no picture of keepvip.
func drawDeath(g *trial.Group, file string, out io.Writer) (err error) {
	defer try.Catch(&err)
	res := try.Get(trial.NodeDeath(g))
	if res.Disturbed() {
		return fmt.Errorf("demo: draw: the machine stood still for %s ms: try again when it is idle", lab.Milliseconds(res.Stall))
	}
	p := try.Get(pictureOf(res, len(g.Lab.Nodes)))
	fmt.Fprintf(out, "%s: %s ms without an answer, drawn in %s\n", p.Title, lab.Milliseconds(p.Back-p.Gone), file)
	return os.WriteFile(file, []byte(draw(p)), 0o644)
}

func showHolder(g *trial.Group, out io.Writer) (err error) {
	defer try.Catch(&err)
	holder := try.Get(g.Settle())
	p, code := try.Two(trial.Keepvip{}.Command(holder, "status", "--socket", trial.Socket(holder)))
	if code != 0 {
		return fmt.Errorf("demo: keepvip status: exit %d: %s", code, p.Log())
	}
	fmt.Fprintf(out, "%s holds the address. Its `keepvip status`:\n\n%s\n", holder.Label, p.Stdout())
	return nil
}

func summary(out io.Writer, results []*trial.Result) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "what happened\taddress away\trequests failing\tfrom\tto\ttakeovers")
	for _, r := range results {
		requests := "-"
		if len(r.Report.HTTPS) > 0 {
			requests = lab.Milliseconds(r.HTTPS) + " ms"
		}
		to := "nobody"
		if r.Taker != 0 {
			to = fmt.Sprintf("n%d", r.Taker)
		}
		fmt.Fprintf(t, "%s\t%s ms\t%s\tn%d\t%s\t%d\n", r.Fault, lab.Milliseconds(r.Outage), requests, r.Victim, to, r.Takeovers)
	}
	return t.Flush()
}
