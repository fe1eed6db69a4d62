package main

import (
	"net/netip"
	"os"
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

// sampleStatus is a holder and one other node, as README shows them.
func sampleStatus(now time.Time) daemon.Status {
	heard := now.Add(-40 * time.Millisecond)
	return daemon.Status{Version: "v0.1.0", Node: "n2", VIPs: []instance.Status{{
		Name: "apiserver", Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.100/32")}, Interface: "eth0",
		State: "active", Since: now.Add(-192 * time.Second), Reason: "no advertisement heard for the Active_Down_Interval", Code: code.HolderSilent,
		Desired: instance.Available, Observed: instance.ObservedActive, Holder: "10.0.0.12", Eligible: true, Priority: 100,
		Checks:    []instance.CheckStatus{{Verdict: health.Verdict{State: health.Healthy, Reason: "200", LastProbe: now.Add(-120 * time.Millisecond), Latency: 0.0042}}},
		Fence:     instance.FenceStatus{Standing: true},
		Conflicts: []instance.Conflict{}, Splits: []election.Split{},
		Takers: instance.Takers{Count: 1, Nodes: 2},
		Members: []election.Member{
			{Address: netip.MustParseAddr("10.0.0.12"), Node: "n2", Self: true, Priority: 100, State: election.Active},
			{Address: netip.MustParseAddr("10.0.0.11"), Node: "n1", Priority: 100, State: election.Backup, LastHeard: heard},
		},
	}}}
}

// The sample in README is what the program prints; make golden writes it.
func TestReadmeShowsWhatStatusPrints(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	showsSample(t, "../../README.md", "```\n$ keepvip status\n", statusText(sampleStatus(now), now))
}

// showsSample is a box in a document that begins with head and goes on with what is printed.
func showsSample(t *testing.T, file, head, printed string) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(text), head)
	require.True(t, found)
	sample, after, found := strings.Cut(rest, "```\n")
	require.True(t, found)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(file, []byte(before+head+printed+"```\n"+after), 0o644))
		sample = printed
	}
	assert.Equal(t, sample, printed, "regenerate with make golden and review the difference")
}
