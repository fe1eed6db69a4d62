//go:build netns

package netnstests

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// tool runs a keepvip command on a node as the migration pages say, and gives its outputs apart.
func tool(t *testing.T, n *lab.Node, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	p, code := mustTwo(trial.Keepvip{}.Command(n, args...))(t)
	return code, p.Stdout(), p.Stderr()
}

var secretFinding = regexp.MustCompile(`warning secret: .* reads it from (\S+); write the first (\d+) characters of auth_pass into that file`)

// convertOnNode takes the steps of docs/migrate-keepalived.md that come before anything is stopped.
func convertOnNode(t *testing.T, n *lab.Node, conf, password string) {
	t.Helper()
	code, out, stderr := tool(t, n, "lint", conf)
	require.Equal(t, 1, code, "warnings and no errors: %s%s", out, stderr)
	assert.Contains(t, out, "slow-check")

	code, out, stderr = tool(t, n, "convert", conf, "--secrets", n.Path("secrets"))
	require.Zero(t, code, stderr)
	path := must(n.WriteFile("keepvip.yaml", out, 0o644))(t)
	require.Equal(t, trial.ConvertedFile(n), path)

	code, _, _ = tool(t, n, "config", "validate", path)
	require.Equal(t, 2, code, "the file of the password is missing")
	found := secretFinding.FindStringSubmatch(stderr)
	require.NotNil(t, found, stderr)
	require.Equal(t, fmt.Sprint(len(password)), found[2])
	require.NoError(t, os.MkdirAll(n.Path("secrets"), 0o700))
	require.NoError(t, os.WriteFile(found[1], []byte(password+"\n"), 0o600))

	code, out, stderr = tool(t, n, "config", "validate", path)
	require.Zero(t, code, out+stderr)
	code, out, stderr = tool(t, n, "check", "--once", "--config", path)
	require.Zero(t, code, out+stderr)
	require.Contains(t, out, "healthy")
}

// cleanStatus is the last step of each node: the state is what the priority says, and nothing is wrong.
func cleanStatus(t *testing.T, n *lab.Node, holds bool) {
	t.Helper()
	want := map[bool]string{true: "active", false: "standby"}[holds]
	eventually(t, 10*time.Second, n.Label+": clean status", shows(n, func(v trial.VIPStatus) bool { return v.Observed == want && n.Holds(lab.VIP4) == holds }))
	code, out, stderr := tool(t, n, "status", "--socket", trial.Socket(n))
	assert.Zero(t, code, out+stderr)
	for _, word := range []string{"REJECTED", "CONFLICT", "SPLIT"} {
		assert.NotContains(t, out, word)
	}
}

// A group of keepalived with the files of kubeadm's guide becomes one of keepvip and back, by the steps of docs/migrate-keepalived.md.
func TestKeepalivedGroupMovesByTheDocumentedProcedureAndBack(t *testing.T) {
	t.Parallel()
	g := openMixed(t, trial.KubeadmGuide(trial.RunGuideKeepalived))
	before := make([]lab.State, len(g.Lab.Nodes))
	for _, n := range g.Lab.Nodes {
		convertOnNode(t, n, n.Path("keepalived.conf"), "42")
	}
	// What keepvip leaves is what was there before.
	runners := map[string]trial.Runner{
		"keepvip": func(n *lab.Node, r ...trial.Router) (*lab.Process, error) {
			before[n.ID-1] = must(n.State())(t)
			return trial.RunConverted(n, r...)
		},
		"keepalived": func(n *lab.Node, r ...trial.Router) (*lab.Process, error) {
			assert.Equal(t, before[n.ID-1], must(n.State())(t), n.Label)
			return trial.RunGuideKeepalived(n, r...)
		},
	}
	for _, to := range trial.Moves() {
		for _, id := range to.IDs {
			n := g.Lab.Nodes[id-1]
			t.Run(fmt.Sprintf("%s to %s", n.Label, to.Name), func(t *testing.T) {
				res := measure(t, g, func(g *trial.Group) (*trial.Result, error) { return g.Replace(n, to.Name, runners[to.Name]) })
				assert.Equal(t, []*lab.Node{g.Lab.Nodes[0]}, g.Holders(), "the best holds in the end")
				if to.Name == "keepvip" {
					cleanStatus(t, n, id == 1)
				}
				if res.Victim == 0 { // a backup's replacement
					moved(t, 0, res)
					return
				}
				// One when it leaves, and one when the best is back. Two Backups of one priority may both take it for a moment.
				assert.GreaterOrEqual(t, res.Takeovers, 2)
				assert.LessOrEqual(t, res.Takeovers, 3+2*res.BySilence)
			})
		}
	}
}

// One node runs the unchanged keepalived.conf under keepvip, beside two keepalived, in each role. Their checks fail and come back so that
// each node holds the address once.
func TestKeepalivedConfUnderKeepvipBesideKeepalived(t *testing.T) {
	each(t, map[string]int{"the best": 0, "the second": 1, "the last": 2}, func(t *testing.T, i int) {
		runs := []trial.Runner{trial.RunCrossingKeepalived, trial.RunCrossingKeepalived, trial.RunCrossingKeepalived}
		runs[i] = trial.RunCrossingKeepvip
		g := openMixed(t, trial.CrossingWeights(runs...))
		for _, step := range []struct {
			name          string
			node          int
			healthy       bool
			holder, moves int
		}{
			{"150 falls to 80", 1, false, 2, 1},
			{"120 falls to 50", 2, false, 3, 1},
			{"80 is 150 again", 1, true, 1, 1},
			{"50 is 120 again", 2, true, 1, 0},
		} {
			res := measure(t, g, trial.Watched(step.name, func(func(string)) error {
				if err := trial.SetHealth(g.Lab.Nodes[step.node-1], step.healthy); err != nil {
					return err
				}
				if step.moves == 0 {
					settleFor(6 * time.Second) // three good checks, and a Master_Down_Interval
				}
				eventually(t, 20*time.Second, step.name, func() bool { return slices.Equal(g.Holders(), []*lab.Node{g.Lab.Nodes[step.holder-1]}) })
				settleFor(time.Second)
				return nil
			}))
			// If the better Backup is late by more than the Skew_Times differ, the other takes the address for a moment.
			assert.GreaterOrEqual(t, res.Takeovers, step.moves, step.name)
			assert.LessOrEqual(t, res.Takeovers, 2*step.moves+2*res.BySilence+res.Report.Rivalry(res.FaultAt, res.Report.Ended), step.name)
		}
	})
}
