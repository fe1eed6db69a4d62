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

// recipe is the box of docs/operations.md in which word stands, without its fences.
func recipe(t *testing.T, word string) string {
	t.Helper()
	return recipeOf(t, "operations.md", word)
}

// recipeOf is that of another page.
func recipeOf(t *testing.T, page, word string) string {
	t.Helper()
	for i, part := range strings.Split(string(must(os.ReadFile(filepath.Join(must(trial.Root())(t), "docs", page)))(t)), "```") {
		if _, text, _ := strings.Cut(part, "\n"); i%2 == 1 && strings.Contains(text, word) {
			return text
		}
	}
	require.Fail(t, "no such recipe", word)
	return ""
}

// installed makes scripts of a node that find the keepvip under test by its name.
func installed(t *testing.T, n *lab.Node, scripts map[string]string) (run func(args ...string) (int, string)) {
	t.Helper()
	binary := must(trial.Binary())(t)
	bin := n.Path("bin")
	require.NoError(t, os.MkdirAll(bin, 0o755))
	scripts["keepvip"] = "#!/bin/sh\nexec " + binary + " \"$@\"\n"
	for name, text := range scripts {
		must(n.WriteFile(filepath.Join("bin", name), text, 0o755))(t)
	}
	return func(args ...string) (int, string) {
		args = append([]string{filepath.Join(bin, args[0])}, args[1:]...)
		p := must(n.StartCommand(lab.Command{Name: "recipe", Args: args, Env: []string{
			"PATH=" + bin + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "KEEPVIP_SOCKET=" + trial.Socket(n),
		}}))(t)
		return must(p.Wait(20 * time.Second))(t), p.Log()
	}
}

// TestRecipes: those that take the address from a node, one after the other.
func TestRecipes(t *testing.T) {
	t.Parallel()
	g := open(t, trial.Config{})
	t.Run("shutdown unit", func(t *testing.T) { shutdownUnit(t, g) })
	t.Run("release of a machine", func(t *testing.T) { releaseMachine(t, g) })
	t.Run("keepvip-away", func(t *testing.T) { keepvipAway(t, g) })
}

func shutdownUnit(t *testing.T, g *trial.Group) {
	holder := settled(t, g)
	var stop string
	for line := range strings.Lines(recipe(t, "keepvip-away.service")) {
		if text, ok := strings.CutPrefix(line, "ExecStop=/usr/bin/"); ok {
			stop = strings.TrimSpace(text)
		}
	}
	require.NotEmpty(t, stop)
	run := installed(t, holder, map[string]string{})
	code, out := run(strings.Fields(stop)...)
	assert.Zero(t, code, out)
	goneOnceTold(t, holder, lab.VIP4)
	require.Zero(t, command(t, holder, "resume"))
}

func releaseMachine(t *testing.T, g *trial.Group) {
	holder := settled(t, g)
	run := installed(t, holder, map[string]string{
		"keepvip-release-machine": recipe(t, "# keepvip-release-machine NAMESPACE"),
		// The part of kubectl that the recipe needs, of a cluster with one machine.
		"kubectl": `#!/bin/sh
case "$*" in
"-n capi get machine cp-1 -o jsonpath={.status.nodeRef.name}") echo node-1 ;;
"-n kube-system exec keepvip-node-1 -- "*) shift 5; exec "$@" ;;
"-n capi annotate machine cp-1 pre-drain.delete.hook.machine.cluster.x-k8s.io/keepvip-") echo released ;;
*) echo "kubectl $*: not expected" >&2; exit 1 ;;
esac
`,
	})
	code, out := run("keepvip-release-machine", "capi", "cp-1")
	assert.Zero(t, code, out)
	assert.Contains(t, out, "released")
	goneOnceTold(t, holder, lab.VIP4)
	assert.Equal(t, "held by an operator: machine cp-1 is being deleted", statusOf(t, holder).VIPs[0].Unfit)
	require.Zero(t, command(t, holder, "resume"))
}

func keepvipAway(t *testing.T, g *trial.Group) {
	holder := settled(t, g)
	run := installed(t, holder, map[string]string{
		"keepvip-away": recipe(t, "# keepvip-away COMMAND"),
		"upgrade":      "#!/bin/sh\nkeepvip status | grep -E 'desired|observed'\nexit 7\n",
	})
	code, out := run("keepvip-away", "upgrade")
	assert.Equal(t, 7, code, out)
	assert.Regexp(t, `desired +drained`, out)
	assert.Regexp(t, `observed +ineligible`, out)
	assert.NotEqual(t, []*lab.Node{holder}, g.Holders())
	assert.Equal(t, "standby", statusOf(t, holder).VIPs[0].Observed)

	// Nobody else can take it: the command must not run.
	for _, n := range g.Others(holder) {
		require.Equal(t, 0, command(t, n, "hold", "--force"))
	}
	settled(t, g)
	code, out = run("keepvip-away", "upgrade")
	assert.Equal(t, 3, code, out)
	assert.NotContains(t, out, "desired")
	assert.Equal(t, holder, settled(t, g))
	assert.Equal(t, "available", statusOf(t, holder).VIPs[0].Desired, "as before the recipe")
}

func TestRecipeJoinHeld(t *testing.T) {
	t.Parallel()
	g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 1}})
	n := g.Lab.Nodes[0]
	require.NoError(t, os.Mkdir(n.Path("state"), 0o750))
	must(n.WriteFile("state/holds.json", recipe(t, "joins held"), 0o600))(t)
	require.NoError(t, g.Start(n))
	settleFor(2 * time.Second)
	assert.Empty(t, g.Holders())
	require.Equal(t, 0, command(t, n, "resume"))
	settled(t, g)
}
