package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/keepvip/keepvip/netns-tests/trial"
)

// failuresHead is what stands above the table of failure modes.
const failuresHead = `# Failure modes

What a client loses, and when keepvip sees it. ` + "`make failure-modes`" + ` measures this page and writes it: three nodes of equal
priority, a client and a bridge in network namespaces on one machine with two cores, everything at its default, advertisements
every 100 ms. Figures are milliseconds, the median with the least and the most of all runs.

- **Seen after**: from the fault until the holder's own check has fallen; where the holder itself is what broke, until another node has
  taken the address.
- **Address silent**: the longest time in which the address answered nobody, one probe each millisecond. Where keepvip alone
  stands still, the kernel answers until the lease is over (290 ms after the last advertisement), and nobody from then until the next
  node has the address. Where keepvip is killed, its kernel [ends the lease and tells the others](fence.md#when-the-process-ends).
- **Requests failing**: the longest time in which new HTTPS connections through the address failed, one every 10 ms, to the apiserver
  of whoever holds it; "-" where that was not measured.
- **Moves**: how often the address moved.
- **Runs** in which the machine itself stood still for more than 20 ms are left out of the figures, and counted as such.

What "seen" means for each kind of check is in [health checks](health.md), and what bounds the time of a takeover in
[measurements](measurements.md).

| what happens | runs | seen after | address silent | requests failing | moves |
|---|---|---|---|---|---|
`

// failuresTail stands below it.
const failuresTail = `
## Open connections

A client that says something on a connection learns of the end by the answer: the next node does not have the connection, and resets it. A client
that only listens, as a watch without events does, has to be told by the node that had the connection.

| what happens | clients that only listen |
|---|---|
| handover, drain, SIGTERM, a failed check, the apiserver's death | each is reset, however many there are: those that were silent the longest first, while the next node serves already. In the lab 1,000 within 0.07 s, 17,000 within 0.7 s, 60,000 within 1.7 s |
| keepvip stands still, and wakes | each is reset when it wakes, also if the kernel has taken the address away meanwhile |
| keepvip is killed, and starts again | each is reset by that start, as soon as it hears that another node has the address. If none has taken it, the connections go on |
| keepvip is killed, and does not start again | nobody tells them |
| the node dies, or is cut off | nobody tells them: see below |

Nobody can tell the clients of a dead node. Each of them waits for the first thing that it says itself, which the next node answers by a reset:

- client-go pings an HTTP/2 connection on which nothing has come for 30 s (` + "`" + `HTTP2_READ_IDLE_TIMEOUT_SECONDS` + "`" + `): told after 30 s. While nobody
  has the address it gives up after 15 s more (` + "`" + `HTTP2_PING_TIMEOUT_SECONDS` + "`" + `).
- Another program in Go that leaves TCP keepalive as it is asks after 15 s of silence.
- A program that has keepalive switched on, and leaves its time to Linux, asks after two hours (` + "`" + `net.ipv4.tcp_keepalive_time` + "`" + `). One without
  keepalive never does.

The load of a [port that is spread](spread.md) has rules of its own: there the holder asks the clients of a dead member for an answer.
`

// writeFailures writes the page from the results of the cases that have a place in it.
func writeFailures(path string, rows map[string]trial.Row) error {
	var b strings.Builder
	b.WriteString(failuresHead)
	for _, c := range cases() {
		row := rows[c.key()]
		results := row.Results
		if c.mode == "" || len(results)+len(row.LeftOut) == 0 {
			continue
		}
		runs, moves := fmt.Sprint(len(results)), row.Takeovers()
		if len(row.LeftOut) > 0 {
			runs += fmt.Sprintf(" (%d more left out)", len(row.LeftOut))
		}
		if len(results) == 0 {
			moves = "-"
		}
		failing := "-"
		if c.config.API && asked(results) {
			failing = trial.Of(results, trial.HTTPS).Rounded()
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", c.mode, runs, trial.Of(results, trial.Seen).Rounded(), trial.Of(results, trial.Outage).Rounded(), failing, moves)
	}
	b.WriteString(failuresTail)
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		return fmt.Errorf("bench: -failure-modes: %w", err)
	}
	return nil
}

// asked tells that requests were made: without any there is nothing to tell of them.
func asked(results []*trial.Result) bool {
	for _, r := range results {
		if r.Report == nil || len(r.Report.HTTPS) == 0 {
			return false
		}
	}
	return true
}

// key names a case with its product.
func (c benchCase) key() string { return c.product().Name() + ": " + c.name }
