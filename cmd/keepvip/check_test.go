package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/node/daemon"
)

var took = regexp.MustCompile(` \(took [^)]+\)`)

func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

func TestCheckOnceExplainsEveryCheck(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprintln(w, "[-]etcd failed: reason withheld")
		}
	}))
	defer s.Close()
	closed := closedPort(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	there := filepath.Join(t.TempDir(), "there")
	require.NoError(t, os.WriteFile(there, nil, 0o600))
	vip := func(checks string) string {
		return write(t, "apiVersion: keepvip/v1\nkind: Config\nvips:\n- addresses: [10.0.0.1]\n  "+checks+"\n")
	}
	tests := []struct {
		name string
		file string
		code int
		want string
	}{
		{"the simple form", vip("check: {url: '" + s.URL + "/readyz', timeout: 20s}"), 0, "apiserver: healthy: 200\n"},
		{"the simple form, unhealthy", vip("check: {url: '" + s.URL + "/livez', timeout: 20s}"), 1, "apiserver: unhealthy: 500; failed: etcd\n"},
		{"a port", vip("check: {url: 'tcp://" + l.Addr().String() + "', timeout: 20s}"), 0, "apiserver: healthy: connected\n"},
		{"a port, unhealthy", vip("check: {url: 'tcp://" + closed + "', timeout: 20s}"), 1, "apiserver: unhealthy: connection refused\n"},
		{"a preset whose CA is somebody else's", vip("check: {url: k0s, ca: " + there + "}"), 1, "apiserver: unhealthy: CA file " + there + ": no certificate in it, want PEM; the check cannot run without it\n"},
		{"none", vip("check: none"), 0, "apiserver: healthy: no check configured\n"},
		{
			"several", vip("checks: [{kind: https, url: '" + s.URL + "/readyz', insecure: true, timeout: 20s}, {kind: file, path: " + there + ", timeout: 20s}, {kind: tcp, address: '" + closed + "', weight: -20, timeout: 20s}]"), 0,
			"apiserver/https: healthy: 200\napiserver/file: healthy: " + there + " is there\napiserver/tcp: unhealthy, costs 20 of the priority: connection refused\n",
		},
		{
			"a condition is bad", vip("checks: [{kind: tcp, address: '" + closed + "', timeout: 20s}, {kind: file, path: " + there + ", timeout: 20s}]"), 1,
			"apiserver/tcp: unhealthy: connection refused\napiserver/file: healthy: " + there + " is there\n",
		},
		{
			"a CA that is missing", vip("checks: [{kind: https, url: '" + s.URL + "/readyz', ca: /no/ca.crt}]"), 1,
			"apiserver/https: unhealthy: CA file /no/ca.crt: no such file or directory; the check cannot run without it\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, out, errs := keepvip(t, "check", "--once", "--config", tt.file)
			assert.Equal(t, tt.code, code, errs)
			assert.Equal(t, tt.want, took.ReplaceAllString(out, ""))
			if tt.code == 1 {
				assert.Equal(t, "keepvip: not fit: a check that is a condition is unhealthy\n", errs)
			}
		})
	}
}

func TestCheckOnceSaysWhyARouterCannotBeAsked(t *testing.T) {
	file := write(t, "apiVersion: keepvip/v1\nkind: Config\nvips:\n- addresses: [10.0.0.1]\n  interface: no-such-if0\n  checks: [{kind: gateway}]\n")
	code, out, errs := keepvip(t, "check", "--once", "--config", file)
	assert.Equal(t, 1, code, errs)
	assert.Regexp(t, `^apiserver/gateway: unhealthy: link: interface "no-such-if0": no such interface .*; the check cannot run \(took`, out)
}

func TestCheckRefusesAProgramThatIsMissing(t *testing.T) {
	file := write(t, "apiVersion: keepvip/v1\nkind: Config\nvips:\n- addresses: [10.0.0.1]\n  checks: [{kind: exec, command: [/no/program], user: '65534'}]\n")
	for _, command := range [][]string{{"check", "--once"}, {"config", "validate"}} {
		code, _, errs := keepvip(t, append(command, "--config", file)...)
		assert.Equal(t, exitUsage, code)
		assert.Contains(t, errs, file+":5: vips[0].checks[0].command: /no/program: no such program here")
	}
}

// lines cancels when that many have been written.
type lines struct {
	text   strings.Builder
	left   int
	cancel context.CancelFunc
}

func (l *lines) Write(b []byte) (int, error) {
	if l.left--; l.left == 0 {
		l.cancel()
	}
	return l.text.Write(b)
}

func TestCheckGoesOnUntilItIsStopped(t *testing.T) {
	cfg, err := config.Load(config.Input{Flags: map[string][]string{"vip": {"10.0.0.1"}, "check": {"https://" + closedPort(t) + "/"}}})
	require.NoError(t, err)
	all, done, err := daemon.OpenChecks(cfg)
	require.NoError(t, err)
	defer done()
	ctx, cancel := context.WithCancel(t.Context())
	out := &lines{left: 2, cancel: cancel}
	require.NoError(t, checkOn(ctx, out, all))
	assert.Regexp(t, `^[0-9:.]+ apiserver: no verdict yet: connection refused\n[0-9:.]+ apiserver: unhealthy: connection refused\n$`, out.text.String())
}
