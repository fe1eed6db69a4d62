//go:build netns

package netnstests

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// hooked is a file with hooks for the only entry, which flags describe. Its directory is for scripts and for what they write.
func hooked(t *testing.T, scripts map[string]string, hooks ...string) (file, dir string) {
	t.Helper()
	dir, err := os.MkdirTemp("/run", "keepvip-hooks-") // root's alone, as what root runs has to be
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	for name, text := range scripts {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755))
	}
	text := fileHead + "vips:\n- addresses: [" + lab.VIP4.String() + "]\n  hooks:\n"
	for _, h := range hooks {
		text += "  - " + strings.ReplaceAll(h, "DIR", dir) + "\n"
	}
	file = filepath.Join(dir, "keepvip.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	return file, dir
}

// Hooks that hang, fork, print a gigabyte and fail, at each change of state: an election at 10 ms does not notice. With such an interval
// other labs beside it would move the address.
func TestHooksCannotMoveTheElection(t *testing.T) {
	file, _ := hooked(t, map[string]string{
		"hang":  "#!/bin/sh\nsleep 3600\n",
		"fork":  "#!/bin/sh\nsleep 3600 &\nsleep 3600 &\nsleep 3600\n",
		"print": "#!/bin/sh\nexec head -c 1073741824 /dev/zero\n",
		"fail":  "#!/bin/sh\necho no route >&2\nexit 1\n",
	},
		"{command: [DIR/hang], user: root, timeout: 2s}", "{command: [DIR/fork], user: '65534', timeout: 2s}",
		"{command: [DIR/print], user: '65534'}", "{command: [DIR/fail], user: '65534'}")
	g := open(t, trial.Config{Product: trial.Keepvip{Args: []string{"--config", file}}, Interval: 10 * time.Millisecond})
	m := must(g.Lab.Measure(lab.MeasureConfig{}))(t)
	at := m.Mark("hooks hang")
	settleFor(2 * time.Second)
	r := m.Stop()
	t.Logf("longest outage %s ms", lab.Milliseconds(r.Longest()))
	assert.LessOrEqual(t, r.Takeovers(lab.VIP4, at), 2*r.BySilence(at), "a takeover from a holder that advertised")
	// The address moves as fast as without them, and a keepvip that ends does not wait for them.
	measure(t, g, trial.Terminated)
}

// docs/hooks.md: a route and a rule follow the address.
func TestRecipeRoutes(t *testing.T) {
	t.Parallel()
	file, _ := hooked(t, map[string]string{"routes.sh": recipeOf(t, "hooks.md", "# routes.sh TYPE")}, "{command: [DIR/routes.sh], user: root}")
	g := open(t, trial.Config{Product: trial.Keepvip{Args: []string{"--config", file}}})
	follow := func() (holder *lab.Node) {
		t.Helper()
		eventually(t, trial.SettleLimit, "the holder alone has the route and the rule", func() bool {
			holder = settled(t, g)
			for _, n := range g.Lab.Nodes {
				route := strings.Contains(must(n.Run("ip", "route", "show", "192.0.2.0/24"))(t), "src 10.77.0.100")
				rule := strings.Contains(must(n.Run("ip", "rule", "show", "priority", "1000"))(t), "from 10.77.0.100 lookup 100")
				if route != (n == holder) || rule != (n == holder) {
					return false
				}
			}
			return true
		})
		return holder
	}
	passesOn(t, follow())
	require.Zero(t, must(g.Daemon(follow()).Terminate(10*time.Second))(t))
	follow()
}
