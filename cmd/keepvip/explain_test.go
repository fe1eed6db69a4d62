package main

import (
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/check/health"
	"github.com/keepvip/keepvip/internal/node/daemon"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// standbyStatus is the other node of sampleStatus, whose apiserver has just died.
func standbyStatus(now time.Time) daemon.Status {
	d, heard, fit, unfit := sampleStatus(now), now.Add(-30*time.Millisecond), true, false
	d.Node = "n1"
	v := &d.VIPs[0]
	v.State, v.Observed, v.Reason, v.Since, v.VRID = "backup", instance.ObservedIneligible, "passed on to another node", now.Add(-192*time.Second), 51
	v.Eligible, v.Priority, v.Unfit = false, 1, "the health check fails: connection refused"
	v.Checks = []instance.CheckStatus{{
		Verdict: health.Verdict{
			State: health.Unhealthy, Reason: "connection refused", Code: code.CheckRefused, Since: now.Add(-193 * time.Second), LastProbe: now.Add(-120 * time.Millisecond), Latency: 0.0002,
		},
	}}
	v.Members = []election.Member{
		{Address: netip.MustParseAddr("10.0.0.11"), Node: "n1", Self: true, Priority: 1, State: election.Backup, Fit: &unfit},
		{Address: netip.MustParseAddr("10.0.0.12"), Node: "n2", Priority: 100, State: election.Active, Fit: &fit, LastHeard: heard},
		{Address: netip.MustParseAddr("10.0.0.13"), Node: "n3", Priority: 100, State: election.Backup, Fit: &fit, LastHeard: heard},
	}
	v.Takers = instance.Takers{Count: 1, Nodes: 3}
	v.Last = &instance.Transition{
		At: v.Since, Code: code.CheckRefused, Cause: "n1: the health check fails: connection refused",
		OldHolder: election.Node{Address: v.Members[0].Address, Name: "n1"}, NewHolder: election.Node{Address: v.Members[1].Address, Name: "n2"},
	}
	return d
}

// The sample in docs/operations.md is what the program prints; make golden writes it.
func TestOperationsShowWhatExplainPrints(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	showsSample(t, "../../docs/operations.md", "```\n$ keepvip explain\n", explanationText(explanationOf(standbyStatus(now), nil, now), now))
}

func TestExplainNamesWhenInTheZoneOfTheReader(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.FixedZone("", 3600))
	assert.Equal(t, " (since 11:56:48, 3m12s ago)", sinceText(now.Add(-192*time.Second).UTC(), now))
	assert.Equal(t, " (since 2026-11-20 12:00:00, 24h0m0s ago)", sinceText(now.Add(-24*time.Hour), now))
	assert.Empty(t, sinceText(time.Time{}, now))
}

func TestExplainWhereNoKeepvipRuns(t *testing.T) {
	status, out, errs := keepvip(t, "explain", "--socket", t.TempDir()+"/none.sock")
	assert.Equal(t, exitFailure, status)
	assert.Empty(t, out)
	_, _, same := keepvip(t, "status", "--socket", t.TempDir()+"/none.sock")
	assert.NotEmpty(t, errs)
	assert.Equal(t, len(same), len(errs), "as status says it")
}

// A code is explained where no keepvip runs, as the page of codes explains it.
func TestExplainOfACodeNeedsNoDaemon(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "none.sock")
	status, out, errs := keepvip(t, "explain", "KV302", "KV103", "--socket", socket)
	require.Equal(t, exitOK, status, errs)
	flat := strings.Join(strings.Fields(out), " ")
	for _, c := range []code.Code{"KV302", "KV103"} {
		e := c.Entry()
		for _, want := range []string{string(c) + " " + e.Name, e.Means, "look: " + e.Look, "remedy: " + e.Remedy} {
			assert.Contains(t, flat, want)
		}
	}

	for args, want := range map[string]string{
		"KV999":           "KV999: there is no such code, want one of docs/troubleshooting.md, as KV103",
		"KV302 apiserver": "KV302 apiserver: codes and names of virtual addresses, want either",
	} {
		status, out, errs := keepvip(t, append([]string{"explain", "--socket", socket}, strings.Fields(args)...)...)
		assert.Equal(t, exitUsage, status, args)
		assert.Empty(t, out)
		assert.Equal(t, "keepvip: "+want+"\n", errs)
	}
	_, out, _ = keepvip(t, "__complete", "explain", "--socket", socket, "KV")
	assert.Contains(t, out, "KV302\t")
}
