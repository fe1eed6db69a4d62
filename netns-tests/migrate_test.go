//go:build netns

package netnstests

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

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
	t.Parallel()
	for i, name := range []string{"the best", "the second", "the last"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runs := []trial.Runner{trial.RunCrossingKeepalived, trial.RunCrossingKeepalived, trial.RunCrossingKeepalived}
			runs[i] = trial.RunCrossingKeepvip
			g := openMixed(t, trial.CrossingWeights(runs...))
			for _, step := range []struct {
				name            string
				node            int
				healthy         bool
				holder          int
				moves, priority int
			}{
				{"150 falls to 80", 1, false, 2, 1, 80},
				{"120 falls to 50", 2, false, 3, 1, 50},
				{"80 is 150 again", 1, true, 1, 1, 150},
				{"50 is 120 again", 2, true, 1, 0, 120},
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
}

// convertedPod is what the container of the converted manifest is started with, without its first word.
func convertedPod(t *testing.T, n *lab.Node, fixture string) []string {
	t.Helper()
	manifest := must(os.ReadFile(filepath.Join(must(trial.Root())(t), "internal/tools/kubevip/testdata", fixture)))(t)
	code, out, stderr := tool(t, n, "convert", must(n.WriteFile("kube-vip.yaml", string(manifest), 0o600))(t))
	require.Zero(t, code, stderr)
	var pod struct {
		Spec struct {
			Containers []struct{ Args []string }
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(out), &pod))
	require.Equal(t, "run", pod.Spec.Containers[0].Args[0])
	return pod.Spec.Containers[0].Args[1:]
}

// The steps of docs/migrate-kube-vip.md, with a client that asks all the time.
func TestKubeVIPIsReplacedByTheDocumentedProcedure(t *testing.T) {
	t.Parallel()
	g := prepare(t, trial.Config{API: true})
	nodes := g.Lab.Nodes
	args := make([][]string, len(nodes))
	running := make([]*trial.KubeVIP, len(nodes))
	for i, n := range nodes {
		args[i] = convertedPod(t, n, "v1.0-pod.yaml")
		running[i] = must(trial.StartKubeVIP(n, lab.VIP4, i == 0))(t)
	}
	eventually(t, 5*time.Second, "kube-vip holds the address", func() bool {
		return nodes[0].Holds(lab.VIP4) && g.Lab.Reaches(g.Lab.Client.Namespace, lab.VIP4, time.Second)
	})
	start := func(i int) {
		g.Daemons[i] = must(trial.Keepvip{}.Run(nodes[i], args[i]...))(t)
	}

	res := measure(t, g, trial.Watched("swap", func(mark func(string)) error {
		for _, i := range []int{1, 2} {
			mark("kube-vip of a follower is stopped")
			if err := running[i].Stop(); err != nil {
				return err
			}
		}
		mark("keepvip starts on the leader's node")
		start(0)
		cleanStatus(t, nodes[0], true)
		settleFor(4 * time.Second) // kube-vip announces meanwhile
		cleanStatus(t, nodes[0], true)
		mark("kube-vip of the leader is stopped")
		if err := running[0].Stop(); err != nil {
			return err
		}
		cleanStatus(t, nodes[0], true)
		for _, i := range []int{1, 2} {
			mark("keepvip starts on another node")
			start(i)
			cleanStatus(t, nodes[i], false)
		}
		return nil
	}))
	assert.Equal(t, nodes[:1], g.Holders())
	assert.Zero(t, res.Two, "nobody else ever answered")
	cleanStatus(t, nodes[0], true)
}

// TestRolling is one test, whose parts follow each other: a client opens fifty connections a second meanwhile. With TLS they take a good
// part of a processor, and several such clients at once would measure each other.
func TestRolling(t *testing.T) {
	t.Parallel() // compilers run when nothing else wants to
	others := map[string]string{}
	for name, edits := range map[string][]trial.Edit{"says more": trial.MoreFields, "another format": trial.AnotherFormat} {
		others[name] = must(trial.BuildVersion(t.TempDir(), "other", edits))(t)
	}
	t.Run("restart of keepvip fails no request", func(t *testing.T) { rollingRestart(t, trial.RollingDaemons) })
	t.Run("restart of the apiservers fails no request", func(t *testing.T) { rollingRestart(t, trial.RollingAPIServers) })
	t.Run("upgrade", func(t *testing.T) { rollingUpgrade(t, others["says more"]) })
	t.Run("upgrade to another format", func(t *testing.T) { upgradeToAnotherFormat(t, others["another format"]) })
}

func rollingRestart(t *testing.T, restart trial.Fault) {
	t.Helper()
	rolled(t, counted(t, trial.Config{API: true}, restart))
}

func rolled(t *testing.T, res *trial.Result) {
	t.Helper()
	requests := res.Report.HTTPS[0]
	t.Logf("%s, a request takes %v, one of a hundred more than %v", res.Note, requests.Latency(50), requests.Latency(99))
	assert.NotZero(t, res.Takeovers)
	assert.LessOrEqual(t, res.MovesMost, 1+2*res.BySilence, "moves for one node")
	if res.BySilence == 0 && !tooSlow(res) {
		assert.Zero(t, res.FailedTwice, "requests that failed again when they were made once more")
		assert.Zero(t, res.Failed, "requests refused or timed out")
	}
}

// tooSlow tells that the machine cannot serve fifty requests a second: then clients wait for each other.
func tooSlow(res *trial.Result) bool { return res.Report.HTTPS[0].Latency(50) >= 15*time.Millisecond }

// previous names another keepvip to upgrade from, as a release before it is published: else only what today's tree can show is shown.
const previous = "KEEPVIP_PREVIOUS"

// One node after the other gets another version. There is no version yet that spoke otherwise, so another one is today's with
// changed messages.
func rollingUpgrade(t *testing.T, other string) {
	t.Helper()
	for _, c := range []struct{ name, from, to string }{
		{"to one that says more", "", other},
		{"from one that said more", other, ""},
		{"from " + previous, os.Getenv(previous), ""},
	} {
		if c.from == c.to {
			continue // nothing was named
		}
		t.Run(c.name, func(t *testing.T) {
			g := open(t, trial.Config{API: true, Product: versions(c.from)})
			upgraded(t, g, c.to)
		})
	}
}

func versions(path string) trial.Versions { return trial.Versions{Paths: []string{path, path, path}} }

// upgraded shows that no request fails, that all know each other in between, and that the address is passed on by the exchange.
func upgraded(t *testing.T, g *trial.Group, to string) {
	t.Helper()
	rolled(t, measure(t, g, trial.Upgrade(to, trial.AtOnce)))
	for _, n := range g.Lab.Nodes {
		s := statusOf(t, n)
		assert.Len(t, s.VIPs[0].Members, 3)
		assert.Empty(t, s.VIPs[0].Counters.MembersRejected)
	}
}

// Nodes that speak another format of the messages are plain VRRP to each other: a move between them loses what VRRP loses.
func upgradeToAnotherFormat(t *testing.T, other string) {
	t.Helper()
	// A request that is made again within the gap of such a move is lost like the first.
	const gap = 200 * time.Millisecond
	g := open(t, trial.Config{API: true, Product: versions("")})
	for _, to := range []string{other, ""} {
		res := measure(t, g, trial.Upgrade(to, gap))
		t.Log(res.Note)
		assert.NotZero(t, res.Takeovers)
		assert.LessOrEqual(t, res.MovesMost, 1+2*res.BySilence, "moves for one node")
	}
	counted := 0
	for _, n := range g.Lab.Nodes {
		s := statusOf(t, n)
		counted += s.VIPs[0].Counters.MembersRejected["version"]
	}
	assert.NotZero(t, counted, "what cannot be read is counted")
}
