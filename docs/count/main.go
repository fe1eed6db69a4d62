// Command count prints the figures by which the plan of the house is judged: `make count`. It looks at the code that a user runs,
// without tests, without netns-tests and without the programs that make packages.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
)

func main() {
	names := flag.Bool("names", false, "print what each figure counts, too")
	dir := flag.String("C", ".", "a directory of the module")
	flag.Parse()
	packages, err := load(*dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "count:", err)
		os.Exit(1)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	figures := count(packages)
	for _, f := range figures {
		fmt.Fprintf(w, "%d\t%s\n", f.number, f.what)
	}
	w.Flush()
	for _, f := range figures {
		if *names && len(f.names) > 0 {
			fmt.Printf("\n%s:\n  %s\n", f.what, strings.Join(f.names, "\n  "))
		}
	}
}
