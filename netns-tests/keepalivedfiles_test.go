//go:build netns

package netnstests

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// What an exporter or a liveness probe made for keepalived sees of a pair of keepvips: it sends a signal, and reads a file.
func TestKeepalivedFilesFollowTheState(t *testing.T) {
	t.Parallel()
	g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 2}, Priorities: []int{101, 100}})
	for i, n := range g.Lab.Nodes {
		g.Daemons[i] = must(trial.Keepvip{Args: []string{"--keepalived-files", n.Path(""), "--keepalived-name", "VI_1"}}.Start(n, g.Settings[i]))(t)
	}
	holder := settled(t, g)
	said := func(n *lab.Node, s unix.Signal, name string, want ...string) {
		t.Helper()
		var text []byte
		eventually(t, 5*time.Second, name+" says "+strings.Join(want, " and "), func() bool {
			require.NoError(t, g.Daemon(n).Signal(s))
			text, _ = os.ReadFile(n.Path(name))
			for _, w := range want {
				if !strings.Contains(string(text), w) {
					return false
				}
			}
			return true
		})
		assert.Equal(t, os.FileMode(0o600), must(os.Stat(n.Path(name)))(t).Mode())
	}
	source := func(n *lab.Node) string { return "   Using src_ip = " + n.Address.String() + "\n" }
	first, second := g.Lab.Nodes[0], g.Lab.Nodes[1]
	require.Equal(t, first, holder)
	said(first, unix.SIGUSR1, "keepalived.data", " VRRP Instance = VI_1\n", "   State = MASTER\n", "   Priority = 101\n", " dev "+first.NICs[0].Name+" scope global set\n", source(first))
	said(second, unix.SIGUSR1, "keepalived.data", "   State = BACKUP\n", "   Master router = "+first.Address.String()+"\n", "   Master priority = 101\n", source(second))
	said(first, unix.SIGUSR2, "keepalived.stats", "VRRP Instance: VI_1\n", "  Became master: 1\n", "  Released master: 0\n")
	said(second, unix.Signal(36), "keepalived.json", `"iname":"VI_1"`, `"state":1`, `"base_priority":100`)

	assert.Zero(t, must(g.Daemon(first).Terminate(5*time.Second))(t))
	assert.NoFileExists(t, first.Path("keepalived.data"))
	said(second, unix.SIGUSR1, "keepalived.data", "   State = MASTER\n")
}
