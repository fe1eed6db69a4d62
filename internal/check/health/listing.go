package health

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/keepvip/keepvip/internal/base/regular"
	"github.com/keepvip/keepvip/internal/config"
)

// listing looks through the processes of this PID namespace for those of a check.
type listing struct {
	check config.ListedCheck
	proc  string // "/proc"
	call  patient[Result]
}

// patiently takes a look in which the arguments of a process that hangs in the kernel cannot be read.
func (l *listing) patiently(ctx context.Context, look func(context.Context) Result) Result {
	r, err := l.call.do(ctx, func() Result { return look(ctx) })
	if err != nil {
		return Result{Outcome: Fail, Reason: "list the processes: " + err.Error()}
	}
	return r
}

// each visits the processes until one is the last that has to be seen.
func (l *listing) each(ctx context.Context, visit func(pid int) (done bool)) error {
	dir, err := os.Open(l.proc)
	if err != nil {
		return regular.Plain(err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return regular.Plain(err)
	}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if visit(pid) {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// is tells whether a process runs and counts, or why that cannot be read. A kernel thread has no arguments, nor has a
// process that has ended and is not waited for. Arguments count where the first one has the name. There is no process
// 0.
func (l *listing) is(pid int) (bool, error) {
	if pid == 0 {
		return false, nil
	}
	dir := filepath.Join(l.proc, strconv.Itoa(pid))
	line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
	if err != nil || len(line) == 0 {
		return false, err
	}
	first, arguments, _ := bytes.Cut(line, []byte{0})
	named := filepath.Base(string(first)) == l.check.Process
	if l.check.Arguments == nil && !named {
		name, err := kernelName(dir)
		return err == nil && name == shortName(l.check.Process), err
	}
	return named && (l.check.Arguments == nil || matches(string(arguments), l.check.Arguments, l.check.Match)), nil
}

// matches compares arguments, each of which ends with a NUL.
func matches(have string, want []string, how config.ArgumentsMatch) bool {
	var b strings.Builder
	for _, w := range want {
		b.WriteString(w + "\x00")
	}
	switch how {
	case config.MatchFirst:
		return strings.HasPrefix(have, b.String())
	case config.MatchBegin:
		return strings.HasPrefix(have, strings.TrimSuffix(b.String(), "\x00"))
	}
	return have == b.String()
}

// kernelName is what the kernel calls the process of a directory.
func kernelName(dir string) (string, error) {
	comm, err := os.ReadFile(filepath.Join(dir, "comm"))
	return string(bytes.TrimSuffix(comm, []byte("\n"))), err
}

// shortName is a name as the kernel has it.
func shortName(name string) string {
	const kernelMost = 15 // TASK_COMM_LEN without its NUL
	return name[:min(len(name), kernelMost)]
}
