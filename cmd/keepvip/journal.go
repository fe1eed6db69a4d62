package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"golang.org/x/sys/unix"
)

// journal is a handler for systemd's journal, which takes the priority of a line from a number in front of it (sd-daemon(3)): one handler
// for each of the priorities 7 (debug), 6 (info), 4 (warning) and 3 (error).
type journal [4]slog.Handler

func newJournal(w io.Writer, make func(io.Writer) slog.Handler) journal {
	var j journal
	for i, priority := range []int{7, 6, 4, 3} {
		j[i] = make(prioritized{w, fmt.Sprintf("<%d>", priority)})
	}
	return j
}

// Enabled implements slog.Handler.
func (j journal) Enabled(ctx context.Context, l slog.Level) bool { return j[0].Enabled(ctx, l) }

// Handle implements slog.Handler.
func (j journal) Handle(ctx context.Context, r slog.Record) error {
	i := 0
	for _, above := range []slog.Level{slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		if r.Level >= above {
			i++
		}
	}
	return j[i].Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (j journal) WithAttrs(attrs []slog.Attr) slog.Handler {
	for i := range j {
		j[i] = j[i].WithAttrs(attrs)
	}
	return j
}

// WithGroup implements slog.Handler.
func (j journal) WithGroup(name string) slog.Handler {
	for i := range j {
		j[i] = j[i].WithGroup(name)
	}
	return j
}

// prioritized writes each line behind its priority, both at once.
type prioritized struct {
	w      io.Writer
	prefix string
}

// Write implements io.Writer.
func (p prioritized) Write(line []byte) (int, error) {
	if _, err := p.w.Write(append([]byte(p.prefix), line...)); err != nil {
		return 0, err
	}
	return len(line), nil
}

// toJournal tells whether w is a stream of systemd's journal: stream is $JOURNAL_STREAM, the device and inode of one.
func toJournal(w io.Writer, stream string) bool {
	file, ok := w.(*os.File)
	if !ok || stream == "" {
		return false
	}
	var s unix.Stat_t
	return unix.Fstat(int(file.Fd()), &s) == nil && stream == fmt.Sprintf("%d:%d", s.Dev, s.Ino)
}
