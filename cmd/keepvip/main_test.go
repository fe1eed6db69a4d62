package main

import (
	"bytes"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/state"
	"github.com/keepvip/keepvip/internal/check/health"
	"github.com/keepvip/keepvip/internal/node/daemon"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// keepvip runs one command line.
func keepvip(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = execute(t.Context(), args, &o, &e)
	return code, o.String(), e.String()
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keepvip.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestWrongCommandLinesExitWith2AndPrintOneLine(t *testing.T) {
	unknown := write(t, "apiVersion: keepvip/v1\nkind: Config\nvips:\n- addresses: [10.0.0.1]\n  prio: 3\n")
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"no address", []string{"run"}, "--vip"},
		{"no such command", []string{"start"}, `unknown command "start"`},
		{"no such flag", []string{"run", "--vips", "10.0.0.1"}, "--vips"},
		{"an argument too many", []string{"run", "10.0.0.1"}, "10.0.0.1"},
		{"bad address", []string{"run", "--vip", "10.0.0.256"}, "10.0.0.256"},
		{"VRID 0", []string{"config", "validate", "--vip", "10.0.0.1", "--vrid", "0"}, "--vrid"},
		{"VRID 256", []string{"config", "validate", "--vip", "10.0.0.1", "--vrid", "256"}, "--vrid"},
		{"interval 0", []string{"config", "validate", "--vip", "10.0.0.1", "--advertisement-interval", "0s"}, "--advertisement-interval"},
		{"unknown key", []string{"config", "validate", "--config", unknown}, unknown + ":5"},
		{"manifest", []string{"manifest", "pod", "--vip", "10.0.0.256"}, "10.0.0.256"},
		{"manifest without an address", []string{"manifest", "pod"}, "--vip"},
		{"manifest with a bad image", []string{"manifest", "pod", "--vip", "10.0.0.1", "--image", "keepvip"}, "image"},
		{"output form", []string{"status", "-o", "xml"}, "xml"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, out, errs := keepvip(t, tt.args...)
			assert.Equal(t, exitUsage, code)
			assert.Empty(t, out)
			assert.Equal(t, 1, strings.Count(errs, "\n"), "one line: %s", errs)
			assert.Contains(t, errs, tt.want)
			assert.True(t, strings.HasPrefix(errs, "keepvip: "))
		})
	}
}

func TestAskingAKeepvipThatDoesNotRunExitsWith1(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "none.sock")
	for _, verb := range []string{"status", "announce", "reload"} {
		code, out, errs := keepvip(t, verb, "--socket", socket)
		assert.Equal(t, exitFailure, code, verb)
		assert.Empty(t, out, verb)
		assert.Contains(t, errs, socket, verb)
	}
}

func TestValidateTellsWhereTheVRIDComesFrom(t *testing.T) {
	code, out, errs := keepvip(t, "config", "validate", "--vip", "10.77.0.100")
	assert.Equal(t, exitOK, code)
	assert.Equal(t, "the configuration is valid\n", out)
	assert.Contains(t, errs, "comes from 10.77.0.100")
	_, _, errs = keepvip(t, "config", "validate", "--vip", "10.77.0.100", "--vrid", "51")
	assert.NotContains(t, errs, "comes from")
}

// Raft has no Virtual Router.
func TestValidateAdvisesOnTheVRIDOfVirtualRoutersAlone(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(key, []byte(strings.Repeat("0123456789abcdef", 4)), 0o600))
	file := write(t, "apiVersion: keepvip/v1\nkind: Config\nkey: {file: "+key+"}\nraft: {peers: [10.77.0.11]}\nvips:\n"+
		"- {name: a, addresses: [10.77.0.100], election: raft}\n- {name: b, addresses: [10.77.0.101]}\n")
	code, _, errs := keepvip(t, "config", "validate", file)
	assert.Equal(t, exitOK, code, errs)
	assert.NotContains(t, errs, "comes from 10.77.0.100")
	assert.Contains(t, errs, "comes from 10.77.0.101")
}

func TestManifestPodCarriesWhatWasGiven(t *testing.T) {
	code, out, errs := keepvip(t, "manifest", "pod", "--vip", "10.77.0.100", "--image", "example.org/keepvip:v1")
	require.Equal(t, exitOK, code, errs)
	assert.Contains(t, out, "- --vip=10.77.0.100\n")
	assert.Contains(t, out, "image: example.org/keepvip:v1\n")
	_, again, _ := keepvip(t, "manifest", "pod", "--vip", "10.77.0.100", "--image", "example.org/keepvip:v1")
	assert.Equal(t, out, again)
}

func TestConfigShowSaysWhereEachValueComesFrom(t *testing.T) {
	t.Setenv("KEEPVIP_PRIORITY", "120")
	_, out, errs := keepvip(t, "config", "show", "--vip", "10.0.0.1")
	assert.Empty(t, errs)
	assert.Contains(t, out, "vips[0].priority: 120 # KEEPVIP_PRIORITY\n")
	assert.Contains(t, out, "vips[0].addresses: 10.0.0.1 # --vip\n")
	assert.Contains(t, out, "port: 9646 # default\n")
}

func TestStatusReadsLikeAnAnswer(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	heard := now.Add(-40 * time.Millisecond)
	doc := daemon.Status{Version: "v1", Node: "n2", VIPs: []instance.Status{{
		Name: "apiserver", Addresses: []netip.Prefix{netip.MustParsePrefix("10.77.0.100/32")}, Interface: "eth0",
		State: "backup", Desired: instance.Held, Observed: instance.ObservedHeld, Held: &state.Hold{Since: now.Add(-time.Hour), Reason: "new kernel"},
		Holder: "10.77.0.11", Since: now.Add(-90 * time.Second), Reason: "started",
		Unfit: "the health check fails: 500", Priority: 1,
		Checks: []instance.CheckStatus{
			{Verdict: health.Verdict{State: health.Unhealthy, Reason: "500", LastProbe: now.Add(-120 * time.Millisecond), Latency: 0.004}},
			{Name: "db", Weight: -20, Verdict: health.Verdict{State: health.Healthy, Reason: "connected"}},
		},
		Fence: instance.FenceStatus{Standing: true}, Takers: instance.Takers{Nodes: 2},
		Members: []election.Member{
			{Address: netip.MustParseAddr("10.77.0.12"), Self: true, Priority: 1, State: election.Backup},
			{Address: netip.MustParseAddr("10.77.0.11"), Priority: 100, State: election.Active, LastHeard: heard},
		},
	}}}
	want := `n2, keepvip v1

apiserver: 10.77.0.100/32 on eth0
  state     backup for 1m30s: started
  desired   held for 1h0m0s: new kernel
  observed  held
  holder    10.77.0.11
  this node not fit: the health check fails: 500, priority 1
  checks    unhealthy: 500 (120ms ago, took 4ms)
            db (weight -20) healthy: connected
  fence     in place: the kernel silences the address if keepvip dies
  NO TAKER  0 of 2 nodes could take over [KV307]
  members   10.77.0.12 backup, priority 1, this node
            10.77.0.11 active, priority 100, heard 40ms ago
`
	assert.Equal(t, want, statusText(doc, now))
}

func TestKeyGenerate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	code, out, errs := keepvip(t, "key", "generate", "--out", file)
	require.Equal(t, exitOK, code, errs)
	assert.Empty(t, out)
	info, err := os.Stat(file)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode())
	before, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Len(t, before, 65)

	code, _, errs = keepvip(t, "key", "generate", "--out", file)
	assert.Equal(t, exitFailure, code)
	assert.Contains(t, errs, file+" is there already")
	after, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, before, after)

	missing := filepath.Join(filepath.Dir(file), "keepvip")
	code, _, errs = keepvip(t, "key", "generate", "--out", filepath.Join(missing, "key"))
	assert.Equal(t, exitFailure, code)
	assert.Contains(t, errs, "mkdir -p -m 750 "+missing)

	code, first, _ := keepvip(t, "key", "generate")
	assert.Equal(t, exitOK, code)
	_, second, _ := keepvip(t, "key", "generate")
	assert.NotEqual(t, first, second)

	code, out, _ = keepvip(t, "key", "fingerprint", file)
	assert.Equal(t, exitOK, code)
	assert.Regexp(t, "^[0-9a-f]{8}  "+file+"\n$", out)
	require.NoError(t, os.Chmod(file, 0o644))
	code, out, errs = keepvip(t, "key", "fingerprint", file)
	assert.Equal(t, exitFailure, code)
	assert.Empty(t, out)
	assert.Contains(t, errs, "chmod 600")
}
