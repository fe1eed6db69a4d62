package main

import (
	"log/slog"
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/node/daemon"
	"github.com/keepvip/keepvip/internal/node/history"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

var (
	formerNode = election.Node{Name: "n1", Address: netip.MustParseAddr("10.77.0.11")}
	latterNode = election.Node{Address: netip.MustParseAddr("10.77.0.12")}
)

func recordAt(at time.Time, boot string, seconds float64) history.Record {
	return history.Record{Boot: boot, BootSeconds: seconds, Transition: instance.Transition{
		At: at, Name: "apiserver", From: "backup", To: "active", OldHolder: formerNode, NewHolder: latterNode, Code: code.HolderSilent,
		Reason: "nothing is heard of the holder", Cause: "n1: silent for 387 ms", AskedBy: "uid 0 on n1", AwaySeconds: 0.391,
	}}
}

func TestHistoryText(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	plain := recordAt(now.Add(time.Hour), "b", 4)
	plain.OldHolder, plain.NewHolder, plain.AwaySeconds, plain.Cause, plain.AskedBy = election.Node{}, formerNode, 0, "", ""
	doc := daemon.History{File: "/var/lib/keepvip/history.log", Transitions: []history.Record{
		recordAt(now, "a", 10), recordAt(now.Add(time.Second), "a", 11), recordAt(now.Add(-time.Hour), "a", 12), recordAt(now, "b", 3), plain,
	}}
	assert.Equal(t, `no keepvip answers here: this is what the last one has left in /var/lib/keepvip/history.log
TIME (UTC)               NAME       HOLDER            THIS NODE         AWAY   CODE   WHY
2026-03-01 12:00:00.000  apiserver  n1 -> 10.77.0.12  backup -> active  391ms  KV103  nothing is heard of the holder; n1: silent for 387 ms; asked by uid 0 on n1
2026-03-01 12:00:01.000  apiserver  n1 -> 10.77.0.12  backup -> active  391ms  KV103  nothing is heard of the holder; n1: silent for 387 ms; asked by uid 0 on n1
-- the clock was set back by 1h0m2s --
2026-03-01 11:00:00.000  apiserver  n1 -> 10.77.0.12  backup -> active  391ms  KV103  nothing is heard of the holder; n1: silent for 387 ms; asked by uid 0 on n1
-- reboot --
2026-03-01 12:00:00.000  apiserver  n1 -> 10.77.0.12  backup -> active  391ms  KV103  nothing is heard of the holder; n1: silent for 387 ms; asked by uid 0 on n1
-- the clock was set forward by 59m59s --
2026-03-01 13:00:00.000  apiserver  nobody -> n1      backup -> active  -      KV103  nothing is heard of the holder
`, historyText(doc, now))
	assert.Equal(t, "no transition yet\n", historyText(daemon.History{}, now))
}

// The box in docs/scripts.md is what is printed.
func TestHistoryTextOfAFault(t *testing.T) {
	at := time.Date(2026, 3, 1, 13, 20, 7, 0, time.UTC)
	begins := history.Record{Boot: "b", BootSeconds: 10, Transition: instance.Transition{
		At: at, Name: "apiserver", From: "active", To: "active", OldHolder: formerNode, NewHolder: formerNode,
		Code: code.LeaseLapsed, Reason: "the lease is over, so the kernel keeps this node from answering", Fault: instance.FaultSilent,
	}}
	ends := begins
	ends.At, ends.BootSeconds, ends.Over, ends.Reason = at.Add(93312*time.Millisecond), 103.312, true, "it is over, after 1m33s"
	text := historyText(daemon.History{Transitions: []history.Record{begins, ends}}, at)
	assert.Contains(t, pages(t)["scripts.md"], "```\n"+text+"```\n")
}

func TestHistoryOfAKeepvipThatDoesNotRunIsReadFromItsFile(t *testing.T) {
	dir := t.TempDir()
	args := []string{"history", "--socket", filepath.Join(dir, "none.sock"), "--state-dir", dir}
	code, out, errs := keepvip(t, args...)
	assert.Equal(t, exitFailure, code)
	assert.Empty(t, out)
	assert.Contains(t, errs, "none.sock")
	assert.Contains(t, errs, history.Path(dir))

	past := history.New(slog.New(slog.DiscardHandler))
	past.Open(dir)
	past.Add(recordAt(time.Now(), "", 0).Transition)
	past.Close()
	code, out, errs = keepvip(t, append(args, "apiserver")...)
	require.Equal(t, exitOK, code, errs)
	assert.Contains(t, out, "no keepvip answers here: this is what the last one has left in "+history.Path(dir))
	assert.Contains(t, out, "n1 -> 10.77.0.12")

	code, out, _ = keepvip(t, append(args, "-o", "json")...)
	require.Equal(t, exitOK, code)
	doc := printsObject(t, kindHistory, out)
	assert.Len(t, doc["transitions"], 1)
	assert.Equal(t, history.Path(dir), doc["file"])

	code, out, errs = keepvip(t, append(args, "ingress")...)
	assert.Equal(t, exitFailure, code)
	assert.Empty(t, out)
	assert.Contains(t, errs, `no transition of "ingress" is known, there are some of: apiserver`)
}
