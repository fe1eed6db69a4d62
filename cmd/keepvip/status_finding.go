package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/keepvip/keepvip/internal/node/daemon"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// mostNamed is how many addresses a finding names that is the same of many, as without a majority it is of all.
const mostNamed = 5

// found is one finding, and the addresses that it is about.
type found struct {
	code       int
	word, what string
	names      []string
}

// finding is an error that says what keeps an address from being served by one node, in a line each, with the exit code of the worst; nil for
// nothing.
func finding(d daemon.Status, now time.Time) error {
	all := findings(d, now)
	if len(all) == 0 {
		return nil
	}
	errs, worst := make([]error, len(all)), all[0].code
	for i, f := range all {
		names, more := f.names, ""
		if len(names) > mostNamed {
			names, more = names[:mostNamed], fmt.Sprintf(" and %d more", len(names)-mostNamed)
		}
		errs[i] = fmt.Errorf("%s: %s%s: %s", f.word, strings.Join(names, ", "), more, f.what)
		worst = min(worst, f.code)
	}
	return codedError{error: errors.Join(errs...), code: worst}
}

func findings(d daemon.Status, now time.Time) (out []found) {
	at := map[string]int{}
	note := func(code int, word, name, what string) {
		what = strings.Join(strings.Fields(what), " ") // in the status it may be two lines
		i, known := at[word+what]
		if !known {
			i = len(out)
			at[word+what] = i
			out = append(out, found{code: code, word: word, what: what})
		}
		out[i].names = append(out[i].names, name)
	}
	for _, v := range d.VIPs {
		for _, s := range v.Splits {
			note(exitSplit, "SPLIT", v.Name, splitText(s, now))
		}
		for _, c := range v.Conflicts {
			note(exitConflict, "CONFLICT", v.Name, conflictText(c, now))
		}
		if v.Observed == instance.ObservedFault {
			note(exitFault, "FAULT", v.Name, faultOf(v))
		}
	}
	return out
}

// faultOf is why it is one.
func faultOf(v instance.Status) string {
	if v.Why != nil {
		return coded(v.Why.Reason, v.Why.Code)
	}
	return coded(v.Reason, v.Code)
}
