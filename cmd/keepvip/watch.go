package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/node/control"
	"github.com/keepvip/keepvip/internal/node/daemon"
)

// watch shows the status again and again until it is interrupted.
type watch struct {
	ask      func(context.Context) (json.RawMessage, error) // the status, of the virtual addresses that are wanted
	interval time.Duration
	output   outputFlag

	raw   json.RawMessage
	doc   daemon.Status
	at    time.Time // when doc was said
	cause error     // why there is none newer; nil: it is the newest
}

func watchOf(socket string, names []string, interval time.Duration, output outputFlag) *watch {
	c := control.NewClient(socket)
	return &watch{interval: interval, output: output, ask: func(ctx context.Context) (json.RawMessage, error) {
		var raw json.RawMessage
		if err := c.Status(ctx, &raw); err != nil {
			return nil, err
		}
		return only(raw, names)
	}}
}

// run draws on a terminal, and prints a document for each change elsewhere.
func (w *watch) run(ctx context.Context, out io.Writer) error {
	ctx, stop := signal.NotifyContext(ctx, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer stop()
	defer context.AfterFunc(ctx, stop)() // a second signal ends a process whose output hangs
	if term, ok := out.(*os.File); ok && w.output == outputText && columns(term) > 0 {
		resized := make(chan os.Signal, 1)
		signal.Notify(resized, unix.SIGWINCH)
		defer signal.Stop(resized)
		return w.onScreen(ctx, term, resized)
	}
	return w.byChange(ctx, out)
}

// answerTime bounds how long what is shown may be older than it seems: a daemon that hangs says nothing.
const answerTime = 2 * time.Second

// look asks once. The error is of a name that was wrong from the beginning: no waiting mends that. One that a reload has removed may come back.
func (w *watch) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	raw, err := w.ask(ctx)
	var doc daemon.Status
	if err == nil {
		err = json.Unmarshal(raw, &doc)
	}
	if w.cause = err; err == nil {
		w.raw, w.doc, w.at = raw, doc, time.Now()
	}
	if w.at.IsZero() && errors.Is(w.cause, errNotThere) {
		return w.cause
	}
	return nil
}

// Sequences of a terminal (ECMA-48, and xterm's for the alternate screen).
const (
	screenOn  = "\x1b[?1049h\x1b[?25l" // the alternate screen, without a cursor
	screenOff = "\x1b[?25h\x1b[?1049l"
	home      = "\x1b[H"
	clearLine = "\x1b[K"
	clearRest = "\x1b[J"
)

// onScreen draws over what it has drawn, so that nothing flickers, and leaves the terminal as it was.
func (w *watch) onScreen(ctx context.Context, term *os.File, resized <-chan os.Signal) (err error) {
	if _, err := io.WriteString(term, screenOn); err != nil {
		return err
	}
	defer func() { _, _ = io.WriteString(term, screenOff) }()
	tick := time.NewTicker(w.interval)
	defer tick.Stop()
	if err := w.look(ctx); err != nil {
		return err
	}
	for {
		if _, err := io.WriteString(term, frame(w.text(time.Now()), columns(term), rows(term))); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-resized:
		case <-tick.C:
			if err := w.look(ctx); err != nil {
				return err
			}
		}
	}
}

// text is what the screen shows.
func (w *watch) text(now time.Time) string {
	switch {
	case w.cause == nil:
		return statusText(w.doc, now)
	case w.at.IsZero():
		return w.cause.Error() + "\n"
	}
	what := "NO ANSWER"
	if errors.Is(w.cause, errNotThere) { // a reload has removed it
		what = "REMOVED"
	}
	return fmt.Sprintf("%s since %s: %v\nwhat follows is of then\n\n%s", what, ago(now, w.at), w.cause, statusText(w.doc, w.at))
}

// frame is text as one drawing of so many columns and rows.
func frame(text string, columns, rows int) string {
	var lines []string
	for line := range strings.SplitSeq(strings.TrimRight(shown(text), "\n"), "\n") {
		lines = append(lines, folded(line, columns-1)...) // behind the last column, clearLine takes the character that is in it
	}
	if over := len(lines) - rows; rows > 0 && over > 0 {
		lines = append(lines[:rows-1], fmt.Sprintf("(%d more lines)", over+1))
	}
	return home + strings.Join(lines, clearLine+"\r\n") + clearLine + clearRest
}

// hanging is where the second row of a line begins, in columns: below what the first one says.
const hanging = 12

// folded is a line in rows of at most so many columns.
func folded(line string, columns int) (out []string) {
	plain := []rune(line)
	columns = max(columns, 2*hanging)
	for len(plain) > columns {
		out = append(out, string(plain[:columns]))
		plain = append([]rune(strings.Repeat(" ", hanging)), plain[columns:]...)
	}
	return append(out, string(plain))
}

// byChange prints the status whenever something of it has changed that is no time and no count.
func (w *watch) byChange(ctx context.Context, out io.Writer) error {
	tick := time.NewTicker(w.interval)
	defer tick.Stop()
	for last := ""; ; {
		err := w.look(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		if now := w.essence(); now != last {
			last = now
			if err := w.printOne(out); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (w *watch) printOne(out io.Writer) error {
	if w.output == outputText {
		_, err := io.WriteString(out, shown(w.text(time.Now()))+"\n")
		return err
	}
	if w.cause != nil {
		return printObjectLine(out, kindNoStatus, noStatusDoc{Error: w.cause.Error()})
	}
	return printObjectLine(out, kindStatus, w.raw)
}

// noStatusDoc is what status --watch prints as JSON while no keepvip answers.
type noStatusDoc struct {
	Error string `json:"error"`
}

// essence is the status without what changes all the time.
func (w *watch) essence() string {
	if w.cause != nil {
		return w.cause.Error()
	}
	d := w.doc
	d.VIPs = slices.Clone(d.VIPs)
	for i := range d.VIPs {
		v := &d.VIPs[i]
		v.Rejected = nil
		v.Checks = slices.Clone(v.Checks)
		for k := range v.Checks {
			v.Checks[k].LastProbe, v.Checks[k].Latency = time.Time{}, 0
		}
		v.Members = slices.Clone(v.Members)
		for k := range v.Members {
			v.Members[k].LastHeard = time.Time{}
		}
		v.Conflicts = slices.Clone(v.Conflicts)
		for k := range v.Conflicts {
			v.Conflicts[k].LastSeen = time.Time{}
		}
		v.Since = time.Time{}
	}
	d.Raft = nil
	return statusText(d, time.Time{})
}

func columns(term *os.File) int {
	size, err := unix.IoctlGetWinsize(int(term.Fd()), unix.TIOCGWINSZ)
	switch {
	case err != nil:
		return 0
	case size.Col == 0: // a terminal that does not say, as a serial line
		return 80
	}
	return int(size.Col)
}

// rows is 0 for a terminal that does not say.
func rows(term *os.File) int {
	size, err := unix.IoctlGetWinsize(int(term.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Row)
}
