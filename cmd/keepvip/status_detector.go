package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// writeDetector says how it would be found out that the holder is gone, where that is more than by its advertisements.
func writeDetector(b *strings.Builder, v instance.Status) {
	if d := v.Detector; d != nil {
		text := fmt.Sprintf("fast: a beat of the holder may be %v late", seconds(d.Wait).Round(time.Millisecond))
		if d.Plain != "" {
			text = "plain, though fast is set: " + coded(d.Plain, d.Code)
		}
		fmt.Fprintf(b, "  detector  %s\n", text)
	}
	if held, missing := lifelinesOf(v.Members); len(held) > 0 {
		text := "of " + strings.Join(held, ", ")
		if len(missing) > 0 {
			text += "; " + coded("none of "+strings.Join(missing, ", ")+", whose end would be heard by their silence alone", code.NoLifeline)
		}
		fmt.Fprintf(b, "  lifelines %s\n", text)
	}
}

// lifelinesOf are the other members whose end is heard in the moment in which it comes, and those that speak and have no such line. Where there is no line
// at all there is to be none, or the log says why.
func lifelinesOf(members []election.Member) (held, missing []string) {
	for _, m := range members {
		name := named(m.Node, m.Address)
		switch {
		case m.Self || m.Was != "":
		case m.Lifeline:
			held = append(held, name)
		case m.Version != "":
			missing = append(missing, name)
		}
	}
	return held, missing
}
