package main

import (
	"io"
	"os"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"
)

// Orders to a terminal.
const (
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	plain  = "\x1b[0m"
)

var (
	// wrong is a line of the status or of doctor about what does not work: a label in capitals, a check that is unhealthy, an error.
	wrong = regexp.MustCompile(`^ *(?:[A-Z]{2,}[A-Z ]* .*|error: .*|checks? +.*\bunhealthy: .*|observed +fault\b.*)$`)
	// unusual is one about what works, but not as it would by itself.
	unusual = regexp.MustCompile(`^ *(?:warning: .*|observed +(?:ineligible|held|draining)\b.*|desired +(?:held|drained)\b.*|not known: .*)$`)
)

// coloured reports whether what is written there is read by a person who wants colours: a terminal, without NO_COLOR (no-color.org).
func coloured(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	_, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS)
	return err == nil
}

// painted is a text whose lines about what is wrong have a colour. It is made of what [shown] returns, so no other order is in it.
func painted(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		body, end := strings.TrimSuffix(line, "\n"), ""
		if body != line {
			end = "\n"
		}
		switch {
		case wrong.MatchString(body):
			b.WriteString(red + body + plain + end)
		case unusual.MatchString(body):
			b.WriteString(yellow + body + plain + end)
		default:
			b.WriteString(line)
		}
	}
	return b.String()
}
