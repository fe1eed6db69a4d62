package health

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
)

var starved = step{Result: unasked(code.NoDescriptors, syscall.EMFILE), takes: time.Millisecond}

// Whatever this host lacks, a healthy service stays healthy and an unhealthy one unhealthy, for as long as it lasts.
func TestCheckerKeepsItsVerdictWhileItCannotAsk(t *testing.T) {
	cfg := given(config.ListedCheck{Interval: 100 * time.Millisecond, Timeout: 50 * time.Millisecond})
	for name, tt := range map[string]struct {
		steps []step
		want  State
		most  int // reports
	}{
		"healthy":              {[]step{pass, starved}, Healthy, 1},
		"unhealthy":            {[]step{pass, down, starved}, Unhealthy, 2},
		"nothing known":        {[]step{starved}, Unknown, 1},
		"failures before":      {[]step{pass, fail, fail, starved}, Healthy, 1},
		"between two failures": {[]step{pass, fail, starved, fail, starved, fail, starved}, Unhealthy, 2},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				s := &script{steps: tt.steps}
				var c *Checker
				reports, _ := run(t, s, cfg, time.Minute, func(of *Checker) { c = of })
				v := c.Verdict()
				assert.Equal(t, tt.want, v.State)
				assert.Equal(t, code.NoDescriptors, v.Lacks)
				assert.Len(t, reports, tt.most)
				assert.Greater(t, v.Unasked, uint64(500))
				assert.LessOrEqual(t, v.Failures, uint64(3), "no probe that was not made is a failure")
			})
		})
	}
}

func TestCheckerForgetsWhatItLackedOnceItAsks(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var c *Checker
		run(t, &script{steps: []step{pass, starved, starved, pass}}, given(config.ListedCheck{}), time.Minute, func(of *Checker) { c = of })
		assert.Empty(t, c.Verdict().Lacks)
		assert.Equal(t, uint64(2), c.Verdict().Unasked)
		assert.Equal(t, Healthy, c.Verdict().State)
	})
}

const starvedChild = "KEEPVIP_TEST_STARVED"

// A process of its own has no descriptor left, so nothing else is disturbed.
func TestProbesWithoutDescriptorsSaySo(t *testing.T) {
	if os.Getenv(starvedChild) != "" {
		probeStarved(t)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestProbesWithoutDescriptorsSaySo$", "-test.v")
	cmd.Env = append(os.Environ(), starvedChild+"=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	for _, name := range []string{"http", "https", "tcp", "exec", "number", "process", "gone process", "processes", "interface", "gateway", "reversed"} {
		assert.Contains(t, string(out), name+": 3 KV390\n")
	}
}

// starvedNeighbour needs a socket for its question.
type starvedNeighbour struct{}

func (starvedNeighbour) Ask(context.Context) (string, error) {
	_, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	return "", fmt.Errorf("open the socket: %w", err)
}

func (starvedNeighbour) Close() error { return nil }

func probeStarved(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	at := ln.Addr().String()
	file := filepath.Join(t.TempDir(), "number")
	require.NoError(t, os.WriteFile(file, []byte("1\n"), 0o600))
	must := func(p Prober, err error) Prober {
		require.NoError(t, err)
		return p
	}
	tcp := must(TCP(given(config.ListedCheck{Address: at})))
	found := newProcess(config.ListedCheck{Process: filepath.Base(os.Args[0])})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	require.Equal(t, Pass, found.Probe(ctx).Outcome)
	probers := []struct {
		name string
		Prober
	}{
		{"http", must(HTTP(given(config.ListedCheck{URL: "http://" + at})))},
		{"https", must(HTTP(given(config.ListedCheck{URL: "https://" + at, CA: file})))},
		{"tcp", tcp},
		{"exec", must(Exec(config.ListedCheck{Command: []string{"/bin/true"}, UID: 65534, GID: 65534, Timeout: time.Second}))},
		{"number", Number(config.ListedCheck{Path: file, Weight: 1})},
		{"process", found},
		{"gone process", newProcess(config.ListedCheck{Process: "keepvip-none-of-that-name"})},
		{"processes", Process(config.ListedCheck{Process: "keepvip-none-of-that-name", Quorum: 1, QuorumMax: 1})},
		{"interface", must(Interface("lo"))},
		{"gateway", Gateway(starvedNeighbour{}, given(config.ListedCheck{}))},
		{"reversed", Reversed(tcp)},
	}
	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: limit.Max}))
	defer func() { require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)) }()
	var out strings.Builder
	for _, p := range probers {
		r := p.Probe(ctx)
		fmt.Fprintf(&out, "%s: %d %s\n", p.name, r.Outcome, r.Code)
	}
	fmt.Print(out.String())
}
