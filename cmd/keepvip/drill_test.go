package main

import (
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/node/control"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/internal/tools/drill"
)

func TestDrillText(t *testing.T) {
	d := &drillDoc{
		VIP: "apiserver", Drill: "stop", Target: netip.MustParseAddrPort("10.0.0.100:6443"), MeasuredFrom: "bystander",
		From: "n1 (10.0.0.11)", To: "n2 (10.0.0.12)", Returned: true, Outage: inSeconds(81 * time.Millisecond), Bound: 0.143,
		Resolution: inSeconds(drill.Interval), Probes: 2000, Lost: 27, Result: "ok",
	}
	assert.Equal(t, `apiserver: drill stop, n1 (10.0.0.11) to n2 (10.0.0.12) and back
  missed    81 ms, at most 143 ms is documented for these settings
  measured  at 10.0.0.100:6443, from a node that was neither: 27 of 2000 connections had no answer, one every 3 ms at the slowest
`, d.text())
	require.NoError(t, d.verdict())
	var out strings.Builder
	require.NoError(t, printObject(&out, kindDrill, d))
	assert.InDelta(t, 0.081, printsObject(t, kindDrill, out.String())["outageSeconds"], 1e-9)
	d.Result, d.Code = "over", "KV706"
	assert.EqualError(t, d.verdict(), "apiserver: the address was missed for 81 ms, want at most 143 ms (KV706)")

	d = &drillDoc{VIP: "apiserver", Drill: "stop", From: "n1", Stays: "the address was not taken in time", Result: "unmeasured"}
	assert.Equal(t, `apiserver: drill stop, n1 to an unknown node, where it stays: the address was not taken in time
  missed    not measured: the node that stood still reaches the address within itself; measure on another node, by --watch
`, d.text())
	require.NoError(t, d.verdict())
}

func TestDrillLastsThreeLeasesAndNotLongerThanADaemonAllows(t *testing.T) {
	for _, tt := range []struct {
		kind        instance.DrillKind
		lasts, want time.Duration
		lease       time.Duration
	}{
		{instance.DrillStop, 0, time.Second, 290 * time.Millisecond},
		{instance.DrillStop, 0, 8970 * time.Millisecond, 2990 * time.Millisecond},
		{instance.DrillStop, 0, instance.MostDrill, time.Minute},
		{instance.DrillStop, 2 * time.Second, 2 * time.Second, 290 * time.Millisecond},
		{instance.DrillCheck, 0, 5 * time.Second, 290 * time.Millisecond},
		{instance.DrillHandover, 0, 10 * time.Second, 290 * time.Millisecond},
	} {
		d := &drillRun{drillFlags: &drillFlags{lasts: tt.lasts}, kind: tt.kind, plan: instance.DrillPlan{Lease: tt.lease}}
		assert.Equal(t, tt.want, d.length())
	}
}

func TestDrillRefusesAWrongCommandLine(t *testing.T) {
	for _, args := range [][]string{
		{"drill", "a", "b"},
		{"drill", "--stop", "--check", "a"},
		{"drill", "--watch", "1s", "--everywhere", "a"},
		{"drill", "--lasts", "31s", "a"},
		{"drill", "--lasts", "0s", "a"},
		{"drill", "--watch", "0s", "a"}, // and not a drill
		{"drill", "--watch", "-1s", "a"},
		{"drill", "--watch", "11m", "a"},
		{"drill", "--within", "-1s", "a"},
	} {
		code, out, errs := keepvip(t, args...)
		assert.Equal(t, exitUsage, code, args)
		assert.Empty(t, out)
		assert.NotEmpty(t, errs)
	}
}

// planned serves what a watcher asks a daemon, which lets nobody change anything, and returns the socket.
func planned(t *testing.T, plan instance.DrillPlan) string {
	t.Helper()
	socket := socketPath(t)
	ln, err := net.Listen("unix", socket)
	require.NoError(t, err)
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			w.WriteHeader(http.StatusForbidden)
			_ = json.NewEncoder(w).Encode(control.Problem{Error: "only root may ask"})
			return
		}
		_ = json.NewEncoder(w).Encode(plan)
	})}
	go func() { _ = s.Serve(ln) }()
	t.Cleanup(func() { _ = s.Close() })
	return socket
}

// A watcher whose port is filtered would take everything for an outage. The kernel refuses a connection to a multicast address.
func TestDrillWatchesNothingThatDoesNotAnswer(t *testing.T) {
	socket := planned(t, instance.DrillPlan{Name: "apiserver", Address: netip.MustParseAddr("224.0.0.1"), Holder: "n1"})
	code, out, errs := keepvip(t, "drill", "--socket", socket, "--watch", "1s", "apiserver")
	assert.Equal(t, exitFailure, code, errs)
	assert.Empty(t, out)
	assert.Contains(t, errs, "224.0.0.1:6443 does not answer before the drill")
}

// Who may watch but not tell the daemon has the figure nevertheless.
func TestDrillThatIsNotKeptHasBeenMeasured(t *testing.T) {
	var warnings strings.Builder
	d := &drillRun{client: control.NewClient(planned(t, instance.DrillPlan{})), warnings: &warnings, kind: instance.DrillStop, bound: 20 * time.Millisecond}
	doc := d.doc("bystander")
	d.seen(t.Context(), doc, drill.Seen{Sent: 100, Lost: 10, Longest: drill.Outage{Length: 30 * time.Millisecond}})
	assert.InDelta(t, 0.03, *doc.Outage, 1e-9)
	assert.Equal(t, "over", doc.Result)
	assert.Equal(t, "keepvip: the result is not kept for the metrics: only root may ask\n", warnings.String())
}

// An address that answers every client by a refusal is missed for no time, and serves nobody.
func TestDrillInWhichAllWereRefusedIsNotOK(t *testing.T) {
	d := &drillRun{client: control.NewClient(planned(t, instance.DrillPlan{})), warnings: &strings.Builder{}, bound: 20 * time.Millisecond}
	d.to = netip.MustParseAddrPort("10.0.0.100:6443")
	doc := d.doc("bystander")
	d.seen(t.Context(), doc, drill.Seen{Sent: 100, Lost: 1, Refused: 99, Longest: drill.Outage{Length: 3 * time.Millisecond}})
	assert.Equal(t, "unserved", doc.Result)
	assert.Contains(t, doc.text(), "refused   all of them")
	require.ErrorContains(t, doc.verdict(), "all 99 connections to 10.0.0.100:6443 were refused")
	require.ErrorContains(t, doc.verdict(), "KV362")
	d.seen(t.Context(), doc, drill.Seen{Sent: 100, Lost: 99, Longest: drill.Outage{Length: 300 * time.Millisecond}})
	assert.Equal(t, "over", doc.Result, "one was taken")
}
