package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestColourIsForWhatIsWrongAlone(t *testing.T) {
	now := time.Now()
	assert.NotContains(t, painted(statusText(sampleStatus(now), now)), "\x1b", "nothing is wrong")
	for line, want := range map[string]string{
		"  SPLIT     n1 holds the address, too [KV301]": red, "  NO TAKER  0 of 2 nodes could take over": red, "  check     unhealthy: connection refused": red,
		"  checks    apiserver unhealthy: 500": red, "  observed  fault [KV401]": red, "CONFIG refused 3s ago": red, "error: KV451 x: y": red,
		"  observed  held": yellow, "  desired   held for 3s": yellow, "warning: KV421 x: y": yellow, "not known: z": yellow,
		"  holder    N2 (10.0.0.12)": "", "  state     active for 3m12s": "", "apiserver: 10.0.0.100/32 on eth0": "", "  members   SPLIT": "", "N1, keepvip v0.1.0": "",
	} {
		got := painted(line + "\n")
		if want == "" {
			assert.Equal(t, line+"\n", got)
		} else {
			assert.Equal(t, want+line+plain+"\n", got)
		}
	}
	assert.False(t, coloured(&bytes.Buffer{}), "no terminal")
}

// Who writes a name with an order to a terminal into a message has no colour, and no order, from it.
func TestColourIsAddedToWhatIsShown(t *testing.T) {
	got := painted(shown("  SPLIT     \x1b[2J\n"))
	assert.Equal(t, 2, strings.Count(got, "\x1b"))
	assert.Contains(t, got, "?[2J")
}
