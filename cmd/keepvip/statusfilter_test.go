package main

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/node/control"
	"github.com/keepvip/keepvip/internal/node/daemon"
)

// socketPath is where a socket may be: t.TempDir names the test, and a path of a socket has 107 octets at most.
func socketPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "kv")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	return filepath.Join(dir, "keepvip.sock")
}

// answering serves a status document on a socket until the test ends, and carries out every verb by doing nothing.
func answering(t *testing.T, status any) (socket string) {
	t.Helper()
	socket = socketPath(t)
	ln, err := net.Listen("unix", socket)
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+control.PathStatus, func(w http.ResponseWriter, _ *http.Request) {
		assert.NoError(t, json.NewEncoder(w).Encode(status))
	})
	mux.HandleFunc("GET "+control.PathConfig, func(w http.ResponseWriter, _ *http.Request) {
		assert.NoError(t, json.NewEncoder(w).Encode(daemon.RunningConfig{Values: []daemon.RunningValue{{Key: "port", Value: "9646", Origin: "default", OnDisk: new(string), Restart: true}}}))
	})
	mux.HandleFunc("POST "+control.PathReload, func(w http.ResponseWriter, _ *http.Request) {
		empty := []string{}
		assert.NoError(t, json.NewEncoder(w).Encode(daemon.Reloaded{Added: []string{"web"}, Removed: empty, Changed: empty, Recreated: empty, Live: empty, Restart: []string{"port"}}))
	})
	mux.HandleFunc("POST /", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) })
	server := http.Server{Handler: mux}
	var wg sync.WaitGroup
	wg.Go(func() { assert.ErrorIs(t, server.Serve(ln), http.ErrServerClosed) })
	t.Cleanup(func() { assert.NoError(t, server.Close()); wg.Wait() })
	return socket
}

func TestStatusOfOneNameShowsThatAlone(t *testing.T) {
	socket := answering(t, map[string]any{
		"node": "n1", "version": "v9", "later": "than this program",
		"vips": []any{
			map[string]any{"name": "apiserver", "state": "backup", "unknown": 7},
			map[string]any{"name": "ingress", "state": "active"},
		},
	})
	code, out, errs := keepvip(t, "status", "apiserver", "--socket", socket)
	require.Equal(t, exitOK, code, errs)
	assert.Contains(t, out, "n1, keepvip v9\n")
	assert.Contains(t, out, "\napiserver: ")
	assert.NotContains(t, out, "ingress")

	code, out, errs = keepvip(t, "status", "-o", "json", "apiserver", "--socket", socket)
	require.Equal(t, exitOK, code, errs)
	assert.JSONEq(t, `{"apiVersion":"keepvip/v1","kind":"Status","node":"n1","version":"v9","later":"than this program","vips":[{"name":"apiserver","state":"backup","unknown":7}]}`, out)

	code, out, _ = keepvip(t, "status", "-o", "json", "--socket", socket)
	assert.Equal(t, exitOK, code)
	var all daemon.Status
	require.NoError(t, json.Unmarshal([]byte(out), &all))
	assert.Len(t, all.VIPs, 2)

	code, out, errs = keepvip(t, "status", "apiservre", "--socket", socket)
	assert.Equal(t, exitFailure, code)
	assert.Empty(t, out)
	assert.Equal(t, "keepvip: no virtual address is named \"apiservre\", there are: apiserver, ingress\n", errs)
}

func TestRunningConfigurationIsThatOfTheDaemonAlone(t *testing.T) {
	socket := answering(t, daemon.Status{})
	for _, args := range [][]string{{"keepvip.yaml"}, {"--config", "keepvip.yaml"}, {"--log-level", "debug"}} {
		code, out, errs := keepvip(t, append([]string{"config", "show", "--running", "--socket", socket}, args...)...)
		assert.Equal(t, exitUsage, code)
		assert.Empty(t, out)
		assert.Contains(t, errs, "are given, want one of them")
	}
	text, web := daemon.RunningConfig{}, "web"
	text.Values = []daemon.RunningValue{
		{Key: "vips[1].name", Origin: "f:9", OnDisk: &web, Only: "disk"}, {Key: "vips[2].name", Value: "old", Origin: "f:11", Only: "running"},
	}
	assert.Equal(t, "vips[1].name:  # f:9; not running, waits for a reload: web\nvips[2].name: old # f:11; not on disk any more, waits for a reload\n", runningText(text))
}
