package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxOutput bounds what a program may print: more ends it, so that none can print for ever.
	maxOutput = 64 << 10
	// MaxInput bounds what a program can be given: a pipe takes as much without anybody who reads.
	MaxInput = 4 << 10
)

// End is how a run has ended.
type End struct {
	Status unix.WaitStatus // when Err is nil
	Output []byte          // what it has printed, standard output and standard error together
	Err    error           // ErrNotStarted, ErrTalks, or that of the context: it was killed. nil: it has ended by itself
}

// ErrTalks ends a program that prints too much.
var ErrTalks = fmt.Errorf("printed more than %d bytes", maxOutput)

// Run runs a program until it ends, or ctx does and it is killed. The command is an absolute path with arguments; there
// is no shell. The program is in the user's one group. User 0 keeps the capabilities of this process, any other has
// none. The input is on standard input, at most MaxInput bytes.
func Run(ctx context.Context, command []string, as syscall.Credential, input []byte) End {
	in, err := given(input)
	if err != nil {
		return End{Err: fmt.Errorf("%w: %w", ErrNotStarted, err)}
	}
	read, write, err := os.Pipe()
	if err != nil {
		return End{Err: errors.Join(fmt.Errorf("%w: %w", ErrNotStarted, err), in.Close())}
	}
	defer read.Close()
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	output := make(chan []byte, 1)
	go func() { output <- collect(read, func() { cancel(ErrTalks) }) }()
	status, err := runSandboxed(inner, command, as, in, write)
	// What the program has left open elsewhere does not hold us up: everything that it wrote itself is in the pipe.
	_ = read.SetReadDeadline(time.Unix(1, 0))
	end := End{Status: status, Output: rest(read, <-output), Err: err}
	if errors.Is(context.Cause(inner), ErrTalks) || len(end.Output) > maxOutput {
		end.Err = ErrTalks
	}
	return end
}

// given is a file from which the input can be read, to its end.
func given(input []byte) (*os.File, error) {
	if len(input) == 0 {
		return os.Open(os.DevNull)
	}
	if len(input) > MaxInput {
		return nil, fmt.Errorf("%d bytes of input, want at most %d", len(input), MaxInput)
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	_, err = write.Write(input)
	if err := errors.Join(err, write.Close()); err != nil {
		return nil, errors.Join(err, read.Close())
	}
	return read, nil
}

// collect reads to the end, and says so when that is too far off.
func collect(read *os.File, tooMuch func()) []byte {
	text, _ := io.ReadAll(io.LimitReader(read, maxOutput+1)) // a deadline ends it, too
	if len(text) > maxOutput {
		tooMuch()
	}
	return text
}

// rest adds to text what is in the pipe at this moment, and waits for nothing: who was to read it may not have come to it yet.
func rest(read *os.File, text []byte) []byte {
	_ = read.SetReadDeadline(time.Time{})
	raw, err := read.SyscallConn()
	if err != nil {
		return text
	}
	b := make([]byte, 4<<10)
	_ = raw.Read(func(fd uintptr) bool {
		for len(text) <= maxOutput {
			n, err := unix.Read(int(fd), b)
			if err == unix.EINTR {
				continue
			}
			if n <= 0 {
				break
			}
			text = append(text, b[:n]...)
		}
		return true
	})
	return text
}

// OK tells whether the program has ended by itself with exit status 0.
func (e End) OK() bool { return e.Err == nil && e.Status.Exited() && e.Status.ExitStatus() == 0 }

// Reason is how it has ended, in a few words on one line.
func (e End) Reason() string {
	switch {
	case e.Err != nil:
		return Brief(e.Err.Error())
	case e.Status.Signaled():
		return "killed by " + unix.SignalName(e.Status.Signal())
	}
	return fmt.Sprintf("exit status %d", e.Status.ExitStatus())
}

// FirstLine is what the program has to say, fit for one line of status and log.
func (e End) FirstLine() string {
	for line := range strings.Lines(string(e.Output[:min(len(e.Output), 4<<10)])) {
		if text := strings.TrimSpace(strings.Map(printable, line)); text != "" {
			return Brief(text)
		}
	}
	return ""
}

func printable(r rune) rune {
	if r < ' ' || r == 0x7f || r == '\ufffd' || r >= 0x80 && r < 0xa0 {
		return ' '
	}
	return r
}

// Brief is a text on one line of bounded length.
func Brief(text string) string {
	const most = 200
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		text = text[:most] + "..."
	}
	return text
}
