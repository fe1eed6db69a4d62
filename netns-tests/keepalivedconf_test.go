//go:build netns

package netnstests

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/keepalived"
	"github.com/keepvip/keepvip/internal/keepalived/dump"
	"github.com/keepvip/keepvip/internal/keepalived/syntax"
	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// keepalivedFiles are ours and, where Debian's package brought its documentation, its samples. KEEPALIVED_FILES names others by a pattern.
func keepalivedFiles(t *testing.T) []string {
	t.Helper()
	root, err := trial.Root()
	require.NoError(t, err)
	var out []string
	for _, pattern := range []string{
		filepath.Join(root, "internal/keepalived/lint/testdata/*.conf"), "/usr/share/doc/keepalived/samples/keepalived.conf.vrrp*", os.Getenv("KEEPALIVED_FILES"),
	} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		out = append(out, found...)
	}
	require.NotEmpty(t, out)
	return out
}

// dataOf is what keepalived dumps of a file, or "" where it does not start with it.
func dataOf(t *testing.T, n *lab.Node, path string) string {
	t.Helper()
	data := n.Path("keepalived.data")
	require.NoError(t, os.RemoveAll(data))
	p, err := n.StartCommand(lab.Command{Name: "keepalived", Env: []string{"TMPDIR=" + n.Dir}, Args: []string{
		"keepalived", "--dont-fork", "--log-console", "--log-detail", "--no-syslog", "--vrrp", "--use-file", path, "--config-id", "node",
		"--pid", n.Path("keepalived.pid"), "--vrrp_pid", n.Path("vrrp.pid"), "--checkers_pid", n.Path("checkers.pid"),
	}})
	require.NoError(t, err)
	ended := false
	defer func() {
		if !ended {
			_, err := p.Terminate(10 * time.Second)
			assert.NoError(t, err)
		}
	}()
	eventually(t, 10*time.Second, "keepalived reads "+path, func() bool {
		select {
		case <-p.Done():
			ended = true
		default:
		}
		return ended || strings.Contains(p.Log(), "Startup complete")
	})
	if ended {
		return ""
	}
	require.NoError(t, p.Signal(unix.SIGUSR1))
	whole := func() bool {
		text, err := os.ReadFile(data)
		return err == nil && strings.Contains(string(text), "------< Interfaces >------")
	}
	eventually(t, 10*time.Second, "keepalived dumps "+path, whole)
	text, err := os.ReadFile(data)
	require.NoError(t, err)
	return string(text)
}

// What the reader makes of a file is what keepalived itself says that it goes by.
func TestKeepalivedConfIsReadAsKeepalivedReadsIt(t *testing.T) {
	t.Parallel()
	l, err := host.Open(lab.Config{Nodes: 1})
	require.NoError(t, err)
	t.Cleanup(l.Close)
	n := l.Nodes[0]
	for _, name := range []string{"eth1", "eth2", "eth3"} {
		_, err := n.Run("ip", "link", "add", name, "type", "bridge")
		require.NoError(t, err)
		_, err = n.Run("ip", "link", "set", name, "up")
		require.NoError(t, err)
	}
	compared := 0
	for _, path := range keepalivedFiles(t) {
		data := dataOf(t, n, path)
		if data == "" {
			t.Logf("%s: keepalived does not start", path)
			continue
		}
		cfg, err := keepalived.Read(path, syntax.Options{ID: "node", Files: syntax.Disk{}})
		require.NoError(t, err)
		compare(t, path, cfg, data)
		compared++
	}
	assert.Greater(t, compared, 3)
}

// compare leaves out the scripts that keepalived has dropped, because they are not on this host.
func compare(t *testing.T, path string, cfg *keepalived.Config, data string) {
	t.Helper()
	ours, theirs := dump.Facts(cfg), dump.Parse(data)
	for _, s := range cfg.Scripts {
		if !slices.ContainsFunc(theirs, func(fact string) bool { return strings.HasPrefix(fact, "script "+s.Name+": ") }) {
			ours = slices.DeleteFunc(ours, func(fact string) bool {
				return strings.HasPrefix(fact, "script "+s.Name+": ") || strings.Contains(fact, ": script "+s.Name+" ")
			})
		}
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	assert.Equal(t, theirs, ours, path)
}
