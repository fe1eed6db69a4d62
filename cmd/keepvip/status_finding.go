package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/keepvip/keepvip/internal/daemon"
	"github.com/keepvip/keepvip/internal/instance"
)

// finding is an error that says what keeps an address from being served by one node, with the exit code of the worst; nil for nothing.
func finding(d daemon.Status, now time.Time) error {
	var errs []error
	worst := 0
	note := func(code int, format string, args ...any) {
		errs = append(errs, fmt.Errorf(format, args...))
		if worst == 0 || code < worst {
			worst = code
		}
	}
	for _, v := range d.VIPs {
		for _, s := range v.Splits {
			note(exitSplit, "SPLIT: %s: %s", v.Name, splitText(s, now))
		}
		for _, c := range v.Conflicts {
			note(exitConflict, "CONFLICT: %s: %s", v.Name, conflictText(c, now))
		}
		if v.Observed == instance.ObservedFault {
			note(exitFault, "FAULT: %s: %s", v.Name, faultOf(v))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return codedError{error: errors.Join(errs...), code: worst}
}

// faultOf is why it is one.
func faultOf(v instance.Status) string {
	if v.Why != nil {
		return coded(v.Why.Reason, v.Why.Code)
	}
	return coded(v.Reason, v.Code)
}
