package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/keepvip/keepvip/internal/node/hook"
)

// writeHooks has a line for each hook of an entry whose newest run failed.
func writeHooks(b *strings.Builder, s *hook.Status, vip string, now time.Time) {
	if s == nil {
		return
	}
	for _, p := range s.Programs {
		if p.VIP != vip || p.Result == hook.OK {
			continue
		}
		fmt.Fprintf(b, "  HOOK      %s failed for %s, %s ago: %s", strings.Join(p.Command, " "), p.State, ago(now, p.At), p.Reason)
		if p.Output != "" {
			fmt.Fprintf(b, "; %s", p.Output)
		}
		fmt.Fprintf(b, " (%d of %d runs failed)\n", p.Failed, p.Runs)
	}
}

// fifoText is a line about a notify FIFO that something is wrong with.
func fifoText(s *hook.Status) string {
	switch {
	case s == nil || s.FIFO == nil:
		return ""
	case s.FIFO.Error != "":
		return fmt.Sprintf("notify FIFO %s cannot be written: %s\n", s.FIFO.Path, coded(s.FIFO.Error, s.FIFO.Code))
	case s.FIFO.Dropped > 0:
		return fmt.Sprintf("notify FIFO %s: %d lines dropped, because nobody read it\n", s.FIFO.Path, s.FIFO.Dropped)
	}
	return ""
}
