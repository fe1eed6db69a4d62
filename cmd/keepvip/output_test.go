package main

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election/raft"
	"github.com/keepvip/keepvip/internal/node/daemon"
)

func TestObjectsHaveAnAPIVersionAndAKind(t *testing.T) {
	for want, doc := range map[string]any{
		`{"apiVersion":"keepvip/v1","kind":"Status"}` + "\n":                      struct{}{},
		`{"apiVersion":"keepvip/v1","kind":"Status","z":1,"a":"\"","b":2}` + "\n": json.RawMessage(` { "z": 1, "a": "\"", "b" :2 } `),
		`{"apiVersion":"keepvip/v1","kind":"Status","at":"2026-01-01T23:30:00.5Z","text":"at 2026-01-02T00:30:00+01:00","\\":"2026-01-01T00:00:00Z"}` + "\n": json.RawMessage(
			`{"at":"2026-01-02T00:30:00.5+01:00","text":"at 2026-01-02T00:30:00+01:00","\\":"2026-01-01T00:00:00Z"}`),
	} {
		var b strings.Builder
		require.NoError(t, printObjectLine(&b, kindStatus, doc))
		assert.Equal(t, want, b.String())
	}
	for _, doc := range []any{[]int{1}, 7, nil, make(chan int)} {
		var b strings.Builder
		require.Error(t, printObject(&b, kindStatus, doc))
		assert.Empty(t, b.String())
	}
}

func TestOutputIsTextOrJSON(t *testing.T) {
	code, out, errs := keepvip(t, "version", "-o", "yaml")
	assert.Equal(t, exitUsage, code)
	assert.Empty(t, out)
	assert.Contains(t, errs, `invalid argument "yaml" for "-o, --output" flag: want text or json`)
	_, plain, _ := keepvip(t, "version")
	_, named, _ := keepvip(t, "version", "--output", "text")
	assert.Equal(t, plain, named)
}

// Each command that prints facts prints an object that is as its schema says.
func TestPrintedObjectsAreAsTheirSchemas(t *testing.T) {
	now := time.Now()
	key := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(key, []byte(strings.Repeat("5a", 32)+"\n"), 0o600))
	doc := sampleStatus(now)
	doc.Raft = &daemon.RaftStatus{Members: []raft.Member{{Address: netip.MustParseAddr("10.0.0.11"), Voter: true, LastHeard: now}}}
	socket := answering(t, doc)
	for k, args := range map[kind][]string{
		kindStatus:        {"status", "--socket", socket},
		kindExplanation:   {"explain", "--socket", socket},
		kindCodes:         {"explain", "KV302"},
		kindMembers:       {"member", "list", "--socket", socket},
		kindReload:        {"reload", "--socket", socket},
		kindVersion:       {"version"},
		kindEndpoints:     {"endpoint", "--vip", "10.77.0.100"},
		kindConfiguration: {"config", "show", "--vip", "10.0.0.1"},
		kindValidation:    {"config", "validate", "--vip", "10.77.0.100"},
		kindFingerprint:   {"key", "fingerprint", key},
		kindLint:          {"lint", lintSamples + "clean.conf"},
		kindConversion:    {"convert", convertSamples + "kubeadm-master.conf"},
		kindRunning:       {"config", "show", "--running", "--socket", socket},
		kindChecks:        {"check", "--once", "--vip", "10.0.0.1", "--check", "none"},
	} {
		code, out, errs := keepvip(t, append(args, "-o", "json")...)
		require.Equal(t, exitOK, code, errs)
		printsObject(t, k, out)
	}
	for _, verb := range []string{"handover", "drain", "hold", "resume", "announce", "log-level debug", "member recover", "member add 10.0.0.11", "member remove 10.0.0.11"} {
		code, out, errs := keepvip(t, append(strings.Fields(verb), "--socket", socket, "-o", "json")...)
		require.Equal(t, exitOK, code, errs)
		printsObject(t, kindConfirmation, out)
	}
	var text bytes.Buffer
	require.NoError(t, printObject(&text, kindDoctor, sampleDoctor()))
	printsObject(t, kindDoctor, text.String())
}
