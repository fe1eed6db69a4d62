package health

import (
	"bufio"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/config"
)

// TestServerOfAnotherProcess is the server of TestFiftyChecksCostLittle, in a process of its own so that only probing is measured.
func TestServerOfAnotherProcess(t *testing.T) {
	if os.Getenv("KEEPVIP_TEST_SERVER") == "" {
		t.Log("is started by TestFiftyChecksCostLittle")
		return
	}
	s := httptest.NewTLSServer(http.HandlerFunc(ok))
	defer s.Close()
	plain := httptest.NewServer(http.HandlerFunc(ok))
	defer plain.Close()
	fmt.Printf("%s\n%s\n%s.\n", s.URL, plain.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	_, _ = io.Copy(io.Discard, os.Stdin) // until the other end is gone
}

// otherServer starts it and returns its URLs and its certificate.
func otherServer(t *testing.T) (url, plain, ca string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestServerOfAnotherProcess$")
	cmd.Env = append(os.Environ(), "KEEPVIP_TEST_SERVER=1")
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { stdin.Close(); _ = cmd.Wait() })
	in := bufio.NewScanner(stdout)
	require.True(t, in.Scan())
	url = in.Text()
	require.True(t, in.Scan())
	plain = in.Text()
	var cert strings.Builder
	for in.Scan() && in.Text() != "." {
		cert.WriteString(in.Text() + "\n")
	}
	ca = filepath.Join(t.TempDir(), "ca.crt")
	put(t, ca, []byte(cert.String()))
	return url, plain, ca
}

func spent(t *testing.T) time.Duration {
	t.Helper()
	var u unix.Rusage
	require.NoError(t, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestFiftyChecksCostLittle(t *testing.T) {
	url, plain, ca := otherServer(t)
	for _, tt := range []struct {
		name string
		cfg  config.ListedCheck
	}{
		{"https", given(config.ListedCheck{URL: url, CA: ca, ServerName: "example.com"})},
		{"http", given(config.ListedCheck{URL: plain})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Interval, tt.cfg.Timeout = 100*time.Millisecond, 5*time.Second
			var wg sync.WaitGroup
			defer wg.Wait()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var all []*Checker
			for range 50 {
				c, err := newHTTPChecker(tt.cfg, slog.New(slog.DiscardHandler))
				require.NoError(t, err)
				all = append(all, c)
				wg.Go(func() { c.Run(ctx, func(Verdict) {}) })
			}
			probes := func() (n uint64) {
				for _, c := range all {
					n += c.Verdict().Probes
				}
				return n
			}
			require.Eventually(t, func() bool { return probes() > 200 }, time.Minute, time.Millisecond)
			fds := descriptors(t)
			// A machine whose processors are taken away may count that time as ours: the median of short stretches has none of it.
			var stretches []time.Duration
			for range 15 {
				used, before := spent(t), probes()
				require.Eventually(t, func() bool { return probes() > before+40 }, time.Minute, time.Millisecond)
				stretches = append(stretches, (spent(t)-used)/time.Duration(probes()-before))
			}
			slices.Sort(stretches)
			each := stretches[len(stretches)/2]
			t.Logf("%v a probe: %.1f %% of a core", each, each.Seconds()*500*100)
			assert.Less(t, each, time.Millisecond)
			assert.Eventually(t, func() bool { return descriptors(t) <= fds+40 }, patience, time.Millisecond,
				"each has one idle connection and one that it asks on, or is about to replace")
			for _, c := range all {
				assert.Equal(t, Healthy, c.Verdict().State, c.Verdict().Reason)
			}
		})
	}
	assert.Eventually(t, func() bool { return descriptors(t) < 40 }, 10*time.Second, time.Millisecond, "all are closed")
}
