// Command keepvip keeps a virtual IP address on one of several nodes.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Exit codes. Scripts rely on them.
const (
	exitOK      = 0
	exitFailure = 1 // something went wrong while running
	exitUsage   = 2 // the command line or the configuration is wrong; nothing was changed on the host
	exitNoTaker = 3 // no other node could take the address
	exitTimeout = 4 // it was not taken in time

	// Findings of status, the worst first.
	exitSplit    = 5 // another node holds the address, too, or only what it says keeps this one from it
	exitConflict = 6 // a host outside the election claims the address
	exitFault    = 7 // this node cannot serve, or no node can: what it is observed as is fault
)

func main() {
	os.Exit(execute(context.Background(), commandLine(os.Args), os.Stdout, os.Stderr))
}

// commandLine is the command line without the program's name. Under keepalived's name the program is that command.
func commandLine(args []string) []string {
	if len(args) > 0 && filepath.Base(args[0]) == "keepalived" {
		return append([]string{"keepalived"}, args[1:]...)
	}
	return args[min(1, len(args)):]
}

// execute runs one command line and returns its exit code. With an error nothing is on out, but for the commands whose exit code is a
// finding: they say there what is wrong.
func execute(ctx context.Context, args []string, out, errs io.Writer) int {
	root := rootFor(args)
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errs)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	for line := range strings.SplitSeq(shown(err.Error()), "\n") {
		_, _ = fmt.Fprintln(errs, "keepvip: "+strings.TrimPrefix(line, "keepvip: "))
	}
	var code codedError
	if errors.As(err, &code) {
		return code.code
	}
	return exitUsage
}

// codedError is an error with an exit code of its own. An error without one is a wrong command line.
type codedError struct {
	error
	code int
}

func (e codedError) Unwrap() error { return e.error }

// failed marks an error that is not the command line's fault.
func failed(err error) error {
	if err == nil {
		return nil
	}
	return codedError{error: err, code: exitFailure}
}
