package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/base/state"
)

// What others have said gives no orders to the terminal, whichever command shows it.
func TestTextOfOthersGivesATerminalNoOrders(t *testing.T) {
	const orders = "\x1b]0;owned\a\u009b2J\r\x7f"
	doc := sampleStatus(time.Now())
	v := &doc.VIPs[0]
	doc.Node, v.Reason, v.Members[0].Node, v.Held = "n2"+orders, "why"+orders, "n1"+orders, &state.Hold{Reason: orders}
	socket := answering(t, doc)
	for _, args := range [][]string{{"status"}, {"status", "-o", "json"}, {"explain", "-o", "json"}, {"explain"}, {"drain"}, {"history", "x" + orders}, {"member" + orders}} {
		_, out, errs := keepvip(t, append(args, "--socket", socket)...)
		for _, r := range out + errs {
			assert.False(t, r != '\n' && isOrder(r), "%q: %q", args, out+errs)
		}
	}
	assert.Equal(t, "a\nä?[2J??x", shown("a\nä\x1b[2J\u009b\x7fx"))
	assert.Equal(t, `{"ä":"\u009b\u007fx"}`, string(escaped([]byte("{\"ä\":\"\u009b\x7fx\"}"))))
}
