package config

import (
	"errors"
	"fmt"
	"sort"
	"strings"
)

// Problem is one thing wrong with a configuration. Its text is one line that names the place, the key and the remedy.
type Problem struct {
	Origin Origin
	Key    string // concrete key path, "" when it is about the file as a whole
	Text   string // got, then want
}

// Error is "config: FILE:LINE: KEY: TEXT", "config: --FLAG: TEXT" or "config: KEY: TEXT".
func (p *Problem) Error() string {
	parts := []string{"config"}
	if p.Origin.Source != Default {
		parts = append(parts, p.Origin.String())
	}
	if p.Key != "" && (p.Origin.Source == Default || p.Origin.Source == File) {
		parts = append(parts, p.Key)
	}
	return strings.Join(append(parts, p.Text), ": ")
}

// mostProblems bounds what one broken file can print.
const mostProblems = 20

// problems collects what is wrong; the zero value is empty.
type problems struct{ list []*Problem }

func (ps *problems) add(o Origin, key, format string, args ...any) {
	ps.list = append(ps.list, &Problem{Origin: o, Key: key, Text: fmt.Sprintf(format, args...)})
}

// err joins the problems in the order of their places, one line each, or is nil.
func (ps *problems) err() error {
	sort.SliceStable(ps.list, func(i, j int) bool { return ps.list[i].Origin.Line < ps.list[j].Origin.Line })
	var errs []error
	for i, p := range ps.list {
		if i == mostProblems {
			errs = append(errs, fmt.Errorf("config: %d more problems", len(ps.list)-i))
			break
		}
		errs = append(errs, p)
	}
	return errors.Join(errs...)
}
