//go:build netns

package netnstests

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/node/daemon"
	"github.com/keepvip/keepvip/internal/node/history"
	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// explained is what `keepvip explain` says on a node: the texts of the facts, each behind its code.
func explained(t *testing.T, n *lab.Node) string {
	t.Helper()
	out, status := mustTwo(trial.Keepvip{}.Command(n, "explain", "--socket", trial.Socket(n), "-o", "json"))(t)
	require.Zero(t, status)
	var doc struct {
		Kind string
		VIPs []struct{ Facts []struct{ Code, Text string } }
	}
	require.NoError(t, json.Unmarshal([]byte(out.Stdout()), &doc), out.Stdout())
	require.Equal(t, "Explanation", doc.Kind)
	require.Len(t, doc.VIPs, 1)
	var b strings.Builder
	for _, f := range doc.VIPs[0].Facts {
		b.WriteString(f.Code + " " + f.Text + "\n")
	}
	return b.String()
}

// One node is held, another dies: each that is left says who holds the address, why it does not itself, and how many could take over.
func TestExplainOnEachNode(t *testing.T) {
	t.Parallel() // seconds of waiting for silence
	g := open(t, trial.Config{Lab: lab.Config{Nodes: 3}})
	holder := settled(t, g)
	others := g.Others(holder)
	held, dies := others[0], others[1]
	says := func(n *lab.Node, texts ...string) {
		t.Helper()
		for _, text := range texts {
			if !eventually(t, 10*time.Second, text, func() bool { return strings.Contains(explained(t, n), text) }) {
				t.Log(explained(t, n))
			}
		}
	}
	says(holder, "2 of 3 nodes could take over", "holds "+lab.VIP4.String())
	says(dies, "KV211 this node is standby", "2 of 3 nodes could take over", "("+holder.Address.String()+") holds "+lab.VIP4.String())

	require.Zero(t, command(t, held, "hold", "--reason", "new kernel"))
	says(held, "KV220 an operator holds this node out: new kernel")
	says(holder, "is not fit: held by an operator: new kernel", "1 of 3 nodes could take over")

	require.NoError(t, g.Daemon(dies).Kill9())
	says(holder, "KV306", "KV307 0 of 3 nodes could take over")
	out, status := mustTwo(trial.Keepvip{}.Command(dies, "explain", "--socket", trial.Socket(dies)))(t)
	assert.NotZero(t, status, "no keepvip runs there")
	assert.Empty(t, out.Stdout())
	assert.Contains(t, out.Stderr(), "keepvip")
}

// The address that keepvip holds is that of a keepalived of another Virtual Router, too. Whoever reads the status learns which host to look at.
func TestConflictSaysWhatAForeignKeepalivedAdvertises(t *testing.T) {
	t.Parallel()
	g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 2}})
	ours, foreign := g.Lab.Nodes[0], g.Lab.Nodes[1]
	require.NoError(t, g.Start(ours))
	eventually(t, 5*time.Second, "keepvip holds the address", func() bool { return len(g.Holders()) == 1 })
	must(trial.Keepalived{}.Start(foreign, trial.Settings{Priority: 101, Interval: time.Second, Addresses: g.Addresses, VRID: 52}))(t)
	want := "sends VRRP from " + trial.NodeAddresses(g.Lab, g.Addresses[0])[1].String() + " with version 3, VRID 52, priority 101 (keepalived?)"
	said := func() string {
		return printed(t, ours, "status")
	}
	defer func() {
		if t.Failed() {
			t.Log(said())
		}
	}()
	eventually(t, 15*time.Second, "the status says "+want, func() bool { return strings.Contains(said(), "CONFLICT") && strings.Contains(said(), want) })
	eventually(t, time.Second, "the log says so, too", func() bool {
		return strings.Contains(g.Daemon(ours).Log(), "vrid=52 priority=101")
	})
}

// FRR has the address on an interface of its own, also as a Backup, and its host answers questions for it where arp_ignore is 0. status, explain and doctor name
// that host and what cures it; with it nothing is wrong any more.
func TestBackupOfFRRThatAnswersForTheAddressIsNamedWithWhatCuresIt(t *testing.T) {
	t.Parallel() // seconds of questions
	g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 2}})
	other, ours := g.Lab.Nodes[0], g.Lab.Nodes[1]
	router := trial.Router{Name: "apiserver", Flavor: trial.Flavor{Version: 3}}
	router.Settings = trial.Settings{Priority: 90, Interval: 100 * time.Millisecond, Addresses: g.Addresses, VRID: 51}
	must(trial.RunFRR(other, router))(t)
	eventually(t, 20*time.Second, "FRR serves", func() bool { return g.Lab.Reaches(g.Lab.Client.Namespace, lab.VIP4, time.Second) })
	g.Settings[1].VRID = router.VRID
	require.NoError(t, g.Start(ours))
	eventually(t, 20*time.Second, "keepvip takes over", shows(ours, func(v trial.VIPStatus) bool { return v.State == "active" }))

	said := func() string { return printed(t, ours, "status") }
	named := "that is the host of " + other.Address.String()
	require.True(t, eventually(t, 60*time.Second, "the status says so", func() bool { return strings.Contains(said(), named) }), said())
	for _, command := range [][]string{{"status"}, {"explain"}, {"doctor", "--vip", lab.VIP4.String(), "--vrid", "51"}} {
		text := printed(t, ours, command...)
		assert.Contains(t, text, "KV371", command)
		assert.Contains(t, text, other.Address.String(), command)
		if command[0] != "status" {
			assert.Contains(t, text, "net.ipv4.conf.IFACE.arp_ignore=1", command)
		}
	}

	must(other.Run("sysctl", "-qw", "net.ipv4.conf."+other.NICs[0].Name+".arp_ignore=1"))(t)
	require.True(t, eventually(t, 60*time.Second, "nothing is wrong any more", func() bool { return !strings.Contains(said(), "CONFLICT") }), said())
	assert.Equal(t, "active", statusOf(t, ours).VIPs[0].State)
}

// Without the members' messages, too, a node names whose advertisements its own configuration refuses: of a node that it does not list, and of one
// behind a router. Both hold the address, and nobody else can know why.
func TestSplitByConfigurationIsNamedInPlainVRRP(t *testing.T) {
	t.Parallel() // seconds of advertisements
	for name, tt := range map[string]struct {
		listed bool // the second node lists the first one
		rules  string
		code   string
		remedy string
	}{
		"half-listed":     {code: "KV319", remedy: "vrrp.peers"},
		"behind a router": {listed: true, code: "KV370", remedy: "vrrp.minTTL", rules: "table ip router { chain out { type filter hook output priority 0; ip protocol 112 ip ttl set 254; }; }"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 2}})
			first, second := g.Lab.Nodes[0], g.Lab.Nodes[1]
			start := func(n *lab.Node, peers string) {
				runFile(t, g, n, fmt.Sprintf("apiVersion: keepvip/v1\nkind: Config\nport: 0\nvips: [{name: api, addresses: [%s], interface: %s, check: none, vrrp: {id: 51, peers: [%s]}}]\n",
					lab.VIP4, n.NICs[0].Name, peers))
			}
			if tt.rules != "" {
				must(first.RunInput(tt.rules, "nft", "-f", "-"))(t)
			}
			start(first, first.Address.String()+", "+second.Address.String())
			eventually(t, 20*time.Second, "the first node advertises", func() bool { return first.Holds(lab.VIP4) })
			others := "10.77.0.99"
			if tt.listed {
				others = first.Address.String()
			}
			start(second, second.Address.String()+", "+others)
			said := func() string {
				return printed(t, second, "status")
			}
			require.True(t, eventually(t, 60*time.Second, "it names the cause", func() bool {
				return strings.Contains(said(), tt.code) && strings.Contains(said(), first.Address.String())
			}), said())
			assert.Contains(t, g.Daemon(second).Log(), tt.remedy)
		})
	}
}

// ownAlone has each node ask a service that has the node's own address alone.
type ownAlone struct{ trial.Keepvip }

func (o ownAlone) Start(n *lab.Node, s trial.Settings) (*lab.Process, error) {
	s.API = true // it has a check
	o.Args = append(o.Args, "--check", "tcp://"+netip.AddrPortFrom(n.Address, 6443).String())
	return o.Keepvip.Start(n, s)
}

// A service that is bound to each node's own address refuses every client of the virtual one: status, explain and doctor name it, a drill is not ok, and
// nothing moves. As soon as one node's service listens everywhere, that node has the address.
func TestServiceThatDoesNotListenAtTheAddressIsNamed(t *testing.T) {
	t.Parallel()
	g := prepare(t, trial.Config{Product: ownAlone{}})
	greeters := map[*lab.Node]*lab.Greeter{}
	for _, n := range g.Lab.Nodes {
		greeters[n] = must(n.StartGreeter(lab.GreeterConfig{Port: 6443}))(t)
	}
	for _, n := range g.Lab.Nodes {
		require.NoError(t, g.Start(n))
	}
	settled(t, g)
	says := func(n *lab.Node, args ...string) string {
		t.Helper()
		p, _ := mustTwo(trial.Keepvip{}.Command(n, append(args, "--socket", trial.Socket(n))...))(t)
		return p.Stdout()
	}
	target := netip.AddrPortFrom(lab.VIP4, 6443)
	for _, n := range g.Lab.Nodes {
		require.True(t, eventually(t, 20*time.Second, "KV361 on "+n.Label, func() bool { return strings.Contains(explained(t, n), "KV361") }))
	}
	holder := settled(t, g)
	want := fmt.Sprintf("nothing listens at %s: the service listens at %s:6443 and [%s]:6443 alone", target, holder.Address, holder.Addr6)
	assert.Contains(t, says(holder, "status"), "UNSERVED  "+want+" [KV361]")
	assert.Contains(t, says(holder, "doctor", "--vip", lab.VIP4.String(), "--check", "tcp://"+netip.AddrPortFrom(holder.Address, 6443).String()), "KV361")
	stays(t, g, func() *lab.Node {
		settleFor(6 * time.Second) // longer than a node takes to look again, and no node is better
		return holder
	})
	holder = settled(t, g)
	p, status := mustTwo(trial.Keepvip{}.Command(holder, "drill", "apiserver", "-o", "json", "--socket", trial.Socket(holder)))(t)
	assert.Equal(t, 1, status, p.Log())
	assert.Contains(t, p.Stdout(), `"result": "unserved"`)
	assert.Contains(t, p.Log(), "KV362")
	holder = settled(t, g) // the drill has moved it

	better := g.Lab.Nodes[holder.ID%3]
	greeters[better].Close()
	must(better.StartGreeter(lab.GreeterConfig{Port: 6443, Everywhere: true}))(t)
	require.True(t, eventually(t, 20*time.Second, "the address is where the service listens", func() bool {
		h := g.Holders()
		return len(h) == 1 && h[0] == better
	}), g.Logs())
	got := must(g.Lab.Sample(g.Lab.Client.Namespace, target, 60))(t)
	assert.Equal(t, map[string]int{better.Label: 60}, got.ByNode, got.String())
	assert.NotContains(t, says(better, "status"), "UNSERVED")
}

// historyOf is what a node remembers, whether its keepvip runs or not.
func historyOf(t *testing.T, n *lab.Node) (doc daemon.History, newest history.Record) {
	t.Helper()
	p, exit := mustTwo(trial.Keepvip{}.Command(n, "history", "-o", "json", "--socket", trial.Socket(n), "--state-dir", n.Path("state")))(t)
	require.Zero(t, exit, p.Stderr())
	require.NoError(t, json.Unmarshal([]byte(p.Stdout()), &doc))
	require.NotEmpty(t, doc.Transitions)
	return doc, doc.Transitions[len(doc.Transitions)-1]
}

// A handover, and a kill of the new holder: every node has both, those that only hear of it, too; and the one that was killed goes on with what
// it had.
func TestHistoryIsTheSameOnAllNodesAndSurvivesAKill(t *testing.T) {
	t.Parallel()
	g := open(t, trial.Config{})
	first := settled(t, g)
	measure(t, g, trial.Verb("handover"))
	second := settled(t, g)
	for _, n := range g.Lab.Nodes {
		eventually(t, 5*time.Second, n.Label+" has the handover", func() bool {
			_, r := historyOf(t, n)
			return r.NewHolder.Address == second.Address
		})
		_, r := historyOf(t, n)
		assert.Equal(t, first.Address, r.OldHolder.Address, n.Label)
		assert.NotEmpty(t, r.OldHolder.Name, n.Label)
	}

	before, _ := historyOf(t, second)
	require.NoError(t, g.Daemon(second).Kill9())
	must(g.Daemon(second).Wait(2 * time.Second))(t)
	left, _ := historyOf(t, second)
	assert.Equal(t, second.Path("state/history.log"), left.File, "without a keepvip it is read from the file")
	assert.Equal(t, before.Transitions, left.Transitions, "a kill loses nothing")
	third := settled(t, g)
	for _, n := range g.Others(second) {
		eventually(t, 5*time.Second, n.Label+" has the takeover", func() bool {
			_, r := historyOf(t, n)
			return r.NewHolder.Address == third.Address
		})
		_, r := historyOf(t, n)
		assert.Equal(t, second.Address, r.OldHolder.Address, n.Label)
		assert.Equal(t, code.ProcessEnded, r.Code, "%s: its kernel said that it was gone", n.Label)
	}

	require.NoError(t, g.Start(second))
	eventually(t, 10*time.Second, "the killed one goes on", func() bool {
		doc, r := historyOf(t, second)
		return doc.File == "" && r.NewHolder.Address == third.Address
	})
	after, r := historyOf(t, second)
	require.Greater(t, len(after.Transitions), len(before.Transitions))
	assert.Equal(t, before.Transitions, after.Transitions[:len(before.Transitions)])
	assert.Equal(t, uint64(len(after.Transitions)), r.Number)
	assert.Nil(t, after.Problem)
}
