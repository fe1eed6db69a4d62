// Command mutations puts each defect of the table into the product, one at a time, and has the test run that is to find it.
//
// The source is not touched: the compiler is given the defective file in place of the other one (-overlay). It ends with exit status 1 if a
// defect is not found, or cannot be put in any more.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/mutations"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// longest bounds one mutation: building the package and its test.
const longest = 10 * time.Minute

func main() {
	only := flag.String("only", "", "only those whose name contains this")
	whole := flag.Bool("whole", false, "run all tests of the package, and name all that find it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *only, *whole, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mutations:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, only string, whole bool, out io.Writer) (err error) {
	defer try.Catch(&err)
	root, dir := try.Get(os.Getwd()), try.Get(os.MkdirTemp("", "keepvip-mutations-"))
	defer os.RemoveAll(dir)
	found, all := 0, 0
	for _, m := range mutations.All() {
		if !strings.Contains(m.Name, only) {
			continue
		}
		all++
		began := time.Now()
		by, err := findersOf(ctx, root, dir, m, whole)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			found++
		} else {
			by = "NOT FOUND: " + err.Error()
		}
		fmt.Fprintf(out, "%-78s %6.1f s  %s\n", m.Name, time.Since(began).Seconds(), by)
	}
	fmt.Fprintf(out, "%d of %d mutations found\n", found, all)
	if found != all || all == 0 {
		return errors.New("not all were found")
	}
	return nil
}

// failed is the line by which a test says that it has failed.
var failed = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

// findersOf tells which test finds the defect. The error says that none does, or that there is no such defect any more.
func findersOf(ctx context.Context, root, dir string, m mutations.Mutation, whole bool) (by string, err error) {
	defer try.Catch(&err)
	overlay := try.Get(replace(root, dir, m))
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	args := []string{"test", "-overlay", overlay, "-vet=off", "-count=1", "-timeout", "5m"}
	if !whole {
		args = append(args, "-run", "^("+m.Test+")$")
	}
	if m.Netns {
		args = append(args, "-tags", "netns")
	}
	test := exec.CommandContext(ctx, "go", append(args, m.Package())...)
	test.Dir = root
	said, err := test.CombinedOutput()
	if err == nil {
		if strings.Contains(string(said), "no tests to run") {
			return "", fmt.Errorf("%s has no test %s", m.Package(), m.Test)
		}
		return "", fmt.Errorf("%s passes with the defect", m.Test)
	}
	var names []string
	for _, match := range failed.FindAllStringSubmatch(string(said), -1) {
		names = append(names, match[1])
	}
	if len(names) == 0 {
		return "", fmt.Errorf("no test has failed, and %w:\n%s", err, said)
	}
	return strings.TrimPrefix(m.Package(), "./") + ": " + strings.Join(names, " "), nil
}

// replace writes the defective file, and the list that puts it in place of the other one.
func replace(root, dir string, m mutations.Mutation) (overlay string, err error) {
	defer try.Catch(&err)
	text := try.Get(m.Mutated(root))
	defective := filepath.Join(dir, "defective.go")
	list := try.Get(json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(root, m.File): defective}}))
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, errors.Join(os.WriteFile(defective, text, 0o600), os.WriteFile(overlay, list, 0o600))
}
