package main

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/node/control"
	"github.com/keepvip/keepvip/internal/node/daemon"
)

// configured is the socket of a keepvip that runs with a configuration.
func configured(t *testing.T, doc daemon.RunningConfig) (socket string) {
	t.Helper()
	socket = socketPath(t)
	ln, err := net.Listen("unix", socket)
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+control.PathConfig, func(w http.ResponseWriter, _ *http.Request) { assert.NoError(t, json.NewEncoder(w).Encode(doc)) })
	server := http.Server{Handler: mux}
	var wg sync.WaitGroup
	wg.Go(func() { assert.ErrorIs(t, server.Serve(ln), http.ErrServerClosed) })
	t.Cleanup(func() { assert.NoError(t, server.Close()); wg.Wait() })
	return socket
}

// Beside a keepvip that was started with flags, and in the default pod, nobody has a file to name.
func TestCommandsTakeTheConfigurationOfTheRunningKeepvip(t *testing.T) {
	watched := filepath.Join(t.TempDir(), "there")
	require.NoError(t, os.WriteFile(watched, nil, 0o600))
	for name, doc := range map[string]daemon.RunningConfig{
		"flags": {Args: []string{"--vip=10.0.0.1", "--check=none"}},
		"a file and a flag": {
			File: "apiVersion: keepvip/v1\nkind: Config\nvips:\n- addresses: [10.0.0.1]\n  checks: [{name: disk, kind: file, path: " + watched + "}]\n",
			Args: []string{"--port=9700"},
		},
	} {
		socket := configured(t, doc)
		status, out, errs := keepvip(t, "check", "--once", "--socket", socket)
		assert.Equal(t, exitOK, status, "%s: %s", name, errs)
		assert.Equal(t, "note: the configuration is that of the keepvip at "+socket+"\n", errs, name)
		assert.Equal(t, doc.File != "", strings.Contains(out, "disk"), "%s: %s", name, out)
	}
	// What is named goes before what runs.
	socket := configured(t, daemon.RunningConfig{Args: []string{"--vip=10.0.0.1", "--check=none"}})
	_, _, errs := keepvip(t, "check", "--once", "--vip", "10.0.0.2", "--check", "none", "--socket", socket)
	assert.Empty(t, errs)
	t.Setenv("KEEPVIP_VIP", "10.0.0.2")
	_, _, errs = keepvip(t, "check", "--once", "--check", "none", "--socket", socket)
	assert.Empty(t, errs)
}

func TestWithoutAConfigurationAndAKeepvipBothAreSaid(t *testing.T) {
	socket := socketPath(t)
	for _, args := range [][]string{{"doctor"}, {"check", "--once"}, {"endpoint"}} {
		status, out, errs := keepvip(t, append(args, "--socket", socket)...)
		assert.Equal(t, exitUsage, status, args)
		assert.Empty(t, out)
		assert.Equal(t, "keepvip: config: vips: no virtual address, want --vip ADDRESS or a file with vips; and no keepvip at "+socket+" tells its own\n", errs, args)
	}
}

func TestEndpointAndDrillTakeTheOnlyAddressThatRuns(t *testing.T) {
	socket := answering(t, map[string]any{"node": "n1", "vips": []any{map[string]any{"name": "apiserver", "mode": "internal", "endpoint": "10.0.0.1:6443"}}})
	status, out, errs := keepvip(t, "endpoint", "--socket", socket)
	assert.Equal(t, exitOK, status, errs)
	assert.Equal(t, "10.0.0.1:6443\n", out)

	two := answering(t, map[string]any{"node": "n1", "vips": []any{map[string]any{"name": "a"}, map[string]any{"name": "b"}}})
	status, _, errs = keepvip(t, "drill", "--socket", two)
	assert.Equal(t, exitUsage, status)
	assert.Equal(t, "keepvip: there are 2 virtual addresses (a, b), want the NAME of one\n", errs)
}

// Words that other programs have for it lead to the command.
func TestWordsOfOtherProgramsLeadToTheCommand(t *testing.T) {
	for word, want := range map[string]string{
		"failover": "handover", "list": "status", "get": "status", "start": "run", "migrate": "convert", "uncordon": "resume",
	} {
		status, out, errs := keepvip(t, word)
		assert.Equal(t, exitUsage, status)
		assert.Empty(t, out)
		assert.Equal(t, "keepvip: unknown command \""+word+"\" for \"keepvip\", did you mean "+want+"?\n", errs)
	}
	status, out, errs := keepvip(t, "manifest", "pods")
	assert.Equal(t, exitUsage, status)
	assert.Empty(t, out)
	assert.Contains(t, errs, "did you mean pod?")
	status, out, errs = keepvip(t, "completion", "zsh2")
	assert.Equal(t, exitUsage, status)
	assert.Empty(t, out)
	assert.Equal(t, "keepvip: unknown command \"zsh2\" for \"keepvip completion\", did you mean zsh?\n", errs)
}

func TestConfigShowChangedLeavesDefaultsOut(t *testing.T) {
	status, out, errs := keepvip(t, "config", "show", "--vip", "10.0.0.1", "--priority", "120", "--changed")
	require.Equal(t, exitOK, status, errs)
	assert.Equal(t, "vips[0].addresses: 10.0.0.1 # --vip\nvips[0].priority: 120 # --priority\n", out)
}
