package daemon

import (
	"context"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/check/health"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/node/report"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

func kubeadmVIP() config.VIP {
	v := config.VIP{
		Name: "vi-1", KeepalivedName: "VI_1", Group: "g", Priority: 101, Addresses: []netip.Prefix{netip.MustParsePrefix("10.9.0.100/32")},
		Announce: config.Announce{Refresh: time.Minute},
		Checks:   []config.ListedCheck{{Name: "check-apiserver", Weight: -2, Interval: 3 * time.Second, Rise: 2, Fall: 10}},
	}
	v.VRRP = config.VRRP{Version: 2, AdvertisementInterval: time.Second, Preempt: true, DownTimerAdverts: 3, Password: "42"}
	return v
}

func TestKeepalivedReportJoinsConfigurationAndStatus(t *testing.T) {
	since := time.Unix(1000, 0)
	own, other := netip.MustParseAddr("10.9.0.11"), netip.MustParseAddr("10.9.0.12")
	members := []election.Member{{Address: own, Self: true, Priority: 99}, {Address: other, Priority: 100}}
	check := []instance.CheckStatus{{Name: "check-apiserver", Verdict: health.Verdict{State: health.Unhealthy}}}
	common := report.Instance{
		Name: "VI_1", Group: "g", Version: 2, Since: since, Interface: "eth0", Source: own, VRID: 51, Priority: 101, Effective: 99, Interval: time.Second,
		Preempt: true, DownTimerAdverts: 3, Refresh: time.Minute, Password: true, Addresses: kubeadmVIP().Addresses,
		Scripts: []report.Script{{Name: "check-apiserver", Weight: -2, Interval: 3 * time.Second, Rise: 2, Fall: 10}},
	}
	counters := instance.Counters{Counters: election.Counters{
		Sent: 1, Received: 2, Resigned: 3, Resignations: 4, Takeovers: 5,
		Rejected: map[string]uint64{"length": 6, "ttl": 7, "type": 8, "interval": 9, "addresses": 10, "auth": 11, "missing": 1, "hmac": 12, "vrid": 13},
	}}
	common.Stats = report.Stats{
		Sent: 1, Received: 2, ZeroSent: 3, ZeroReceived: 4, BecameMaster: 5, ReleasedMaster: 5, Length: 6, TTL: 7, InvalidType: 8, AdvertInterval: 9,
		AddressList: 10, AuthMismatch: 12, AuthFailure: 12,
	}
	cfg := &config.Config{VIPs: []config.VIP{kubeadmVIP()}}
	for name, tt := range map[string]struct {
		state, holder string
		want          func(*report.Instance)
	}{
		"active":                              {"active", own.String(), func(i *report.Instance) { i.State, i.Bound, i.Stats.ReleasedMaster = report.Master, true, 4 }},
		"backup":                              {"backup", other.String(), func(i *report.Instance) { i.State, i.Master, i.MasterPriority = report.Backup, other, 100 }},
		"backup of somebody who is no member": {"backup", "10.9.0.13", func(i *report.Instance) { i.State, i.Master = report.Backup, netip.MustParseAddr("10.9.0.13") }},
		"out":                                 {"initialize", "", func(i *report.Instance) { i.State = report.Fault }},
	} {
		t.Run(name, func(t *testing.T) {
			s := instance.Status{
				Name: "vi-1", Interface: "eth0", State: tt.state, Holder: tt.holder, Since: since, VRID: 51, Priority: 99, Members: members, Checks: check, Counters: counters,
			}
			want := common
			tt.want(&want)
			got := keepalivedReport(cfg, []instance.Status{s, {Name: "removed"}})
			assert.Equal(t, report.Node{Instances: []report.Instance{want}}, got)
		})
	}
	v := kubeadmVIP()
	v.KeepalivedName, v.VRRP.Owner, v.VRRP.Peers = "", true, []netip.Addr{own, other}
	v.Addresses = append(v.Addresses, netip.MustParsePrefix("10.9.0.101/32"), netip.MustParsePrefix("fd09::100/64"))
	v.VRRP.Excluded = []netip.Addr{v.Addresses[1].Addr()}
	i := keepalivedInstance(v, instance.Status{Members: members})
	assert.Equal(t, v.Addresses[:1], i.Addresses)
	assert.Equal(t, v.Addresses[1:], i.Excluded)
	assert.Equal(t, "vi-1", i.Name)
	assert.Equal(t, uint8(255), i.Priority)
	assert.True(t, i.Unicast)
	assert.Equal(t, []netip.Addr{other}, i.Peers)
}

// lockedText is a log that is read while it is written.
type lockedText struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedText) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// nobody is the status without instances.
func nobody() []instance.Status { return nil }

func TestKeepalivedFilesAreWrittenOnSignals(t *testing.T) {
	dir := t.TempDir()
	var log lockedText
	var cfg atomic.Pointer[config.Config]
	cfg.Store(&config.Config{})
	k := &keepalivedFiles{log: slog.New(slog.NewTextHandler(&log, nil)), config: cfg.Load, status: nobody}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		k.run(ctx)
	}()
	files := map[string]syscall.Signal{"keepalived.data": unix.SIGUSR1, "keepalived.stats": unix.SIGUSR2, "keepalived.json": SignalJSON}
	cfg.Store(&config.Config{KeepalivedFiles: dir})
	for range 2 {
		require.NoError(t, unix.Kill(os.Getpid(), SignalStatsClear))
	}
	for name, s := range files {
		assert.Eventually(t, func() bool {
			require.NoError(t, unix.Kill(os.Getpid(), s))
			_, err := os.Stat(filepath.Join(dir, name))
			return err == nil
		}, 5*time.Second, 10*time.Millisecond, name)
	}
	blocked := filepath.Join(dir, "not-there")
	refused := filepath.Join(blocked, "keepalived.data")
	cfg.Store(&config.Config{KeepalivedFiles: blocked})
	for range 3 { // an earlier signal for another file may be pending
		require.NoError(t, unix.Kill(os.Getpid(), unix.SIGUSR1))
		assert.Eventually(t, func() bool { return strings.Contains(log.text(), refused) }, 5*time.Second, time.Millisecond)
	}
	stop()
	<-ended
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, entries, "what was written is gone")
	assert.Equal(t, 1, strings.Count(log.text(), refused), log.text())
}

func TestKeepalivedFilesOfAKilledRunAreRemovedAtTheStart(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"keepalived.data", "keepalived.stats", "keepalived.json", "other"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("old"), 0o600))
	}
	require.NoError(t, os.Remove(filepath.Join(dir, "keepalived.stats")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "keepalived.stats"), 0o755))
	var log lockedText
	cfg := &config.Config{KeepalivedFiles: dir}
	k := &keepalivedFiles{log: slog.New(slog.NewTextHandler(&log, nil)), config: func() *config.Config { return cfg }, status: nobody}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	k.run(ctx)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	assert.Equal(t, []string{"keepalived.stats", "other"}, left, "what is no file of keepvip's stays")
	assert.Equal(t, 1, strings.Count(log.text(), "level=WARN"), log.text())

	cfg.KeepalivedFiles = filepath.Join(dir, "none")
	k.run(ctx)
	assert.Equal(t, 1, strings.Count(log.text(), "level=WARN"), "a directory that is not there has nothing in it")
}

// A backup that holds the address when the counters are cleared releases it once afterwards, and has not become the holder since.
func TestKeepalivedCountersAreCleared(t *testing.T) {
	cfg := &config.Config{VIPs: []config.VIP{kubeadmVIP()}}
	k := &keepalivedFiles{}
	counted := func(state string, takeovers, sent uint64) (report.Stats, map[string]report.Stats) {
		n := keepalivedReport(cfg, []instance.Status{{Name: "vi-1", State: state, Counters: instance.Counters{Counters: election.Counters{Takeovers: takeovers, Sent: sent}}}})
		now := k.countedSince(&n)
		return n.Instances[0].Stats, now
	}
	got, now := counted("active", 2, 10)
	assert.Equal(t, report.Stats{BecameMaster: 2, ReleasedMaster: 1, Sent: 10}, got)
	k.cleared = now
	got, _ = counted("active", 2, 10)
	assert.Equal(t, report.Stats{}, got)
	got, _ = counted("backup", 2, 13)
	assert.Equal(t, report.Stats{ReleasedMaster: 1, Sent: 3}, got)
	assert.Equal(t, keepalivedFileFor(unix.SIGUSR2).name, keepalivedFileFor(SignalStatsClear).name)
	assert.True(t, keepalivedFileFor(SignalStatsClear).last)
	assert.False(t, keepalivedFileFor(unix.SIGUSR2).last)
}

func TestKeepalivedFilesNeedTheOption(t *testing.T) {
	cfg := &config.Config{}
	k := &keepalivedFiles{config: func() *config.Config { return cfg }, status: nobody}
	for _, s := range []syscall.Signal{unix.SIGUSR1, unix.SIGUSR2, SignalJSON} {
		p, err := k.write(keepalivedFileFor(s))
		require.NoError(t, err)
		assert.Zero(t, p)
	}
	cfg.KeepalivedFiles = filepath.Join(t.TempDir(), "none")
	_, err := k.write(keepalivedFileFor(unix.SIGUSR1))
	assert.ErrorContains(t, err, "none/keepalived.data: ")
}
