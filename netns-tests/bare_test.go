//go:build netns

package netnstests

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// An instance without an address, whose scripts would move a cloud's: one keepalived.conf for keepalived and keepvip, in both roles. The
// scripts are called as keepalived calls them, and nothing is bound.
func TestInstanceWithoutAddressBesideKeepalived(t *testing.T) {
	t.Parallel() // seconds of waiting for timers
	g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 2}})
	other, own := g.Lab.Nodes[0], g.Lab.Nodes[1]
	for _, n := range g.Lab.Nodes {
		must(n.WriteFile("notify.sh", fmt.Sprintf("#!/bin/sh\necho \"$1\" >> %s\n", n.Path("told")), 0o755))(t)
	}
	conf := func(n *lab.Node, priority int) string {
		text := fmt.Sprintf("global_defs {\n script_user root\n}\nvrrp_instance VI_1 {\n interface eth0\n virtual_router_id 51\n priority %d\n", priority)
		for _, state := range []string{"master", "backup", "stop"} {
			text += fmt.Sprintf(" notify_%s \"%s %s\"\n", state, n.Path("notify.sh"), strings.ToUpper(state))
		}
		return must(n.WriteFile("keepalived.conf", text+"}\n", 0o644))(t)
	}
	calls := func(n *lab.Node) string {
		text, _ := os.ReadFile(n.Path("told"))
		return strings.Join(strings.Fields(string(text)), " ")
	}
	// told waits until what keepvip has told last is this. A holder that was late may have told of a move more.
	told := func(last string) {
		t.Helper()
		eventually(t, 20*time.Second, own.Label+" is told "+last, func() bool { return strings.HasSuffix(calls(own), last) })
		assert.Regexp(t, `^(BACKUP( MASTER BACKUP)*( MASTER)?( STOP ?)?)+$`, calls(own), "it is told of each change once")
	}
	before := addressesOn(t, own)

	keepalived := must(trial.RunKeepalivedFile(other, conf(other, 100)))(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("keepalived has said:\n%s\nits scripts: %s\nthose of keepvip: %s", keepalived.Log(), calls(other), calls(own))
		}
	})
	// enters waits until keepalived, by its own word, has gone from one state into the other last. Its scripts run beside each other, so on a late
	// machine the one that began last need not be the last to write.
	enters := func(from, to string) {
		t.Helper()
		eventually(t, 20*time.Second, "keepalived enters "+to, func() bool {
			states := entered.FindAllStringSubmatch(keepalived.Log(), -1)
			return len(states) > 1 && states[len(states)-2][1] == from && states[len(states)-1][1] == to
		})
		eventually(t, 20*time.Second, "it tells of each change once", func() bool {
			var states []string
			for _, s := range entered.FindAllStringSubmatch(keepalived.Log(), -1) {
				states = append(states, s[1])
			}
			said := strings.Fields(calls(other))
			slices.Sort(states)
			slices.Sort(said)
			return slices.Equal(said, states)
		})
	}
	enters("BACKUP", "MASTER")
	p := must(trial.KeepvipWith(own, conf(own, 150)))(t)
	told("BACKUP MASTER")
	enters("MASTER", "BACKUP")
	assert.Equal(t, before, addressesOn(t, own), "nothing is bound")
	assert.Contains(t, printed(t, own, "status"), "hooks move the address")
	must(p.Terminate(10 * time.Second))(t)
	told("STOP")
	enters("BACKUP", "MASTER")

	must(trial.KeepvipWith(own, conf(own, 50)))(t)
	told("BACKUP")
	const silence = 4 // advertisements that are missed until a Backup takes over
	eventually(t, 20*time.Second, own.Label+" hears keepalived for longer than a silence takes", shows(own, func(v trial.VIPStatus) bool { return v.Counters.Received > silence }))
	told("BACKUP")
	enters("BACKUP", "MASTER")
}

var entered = regexp.MustCompile(`Entering (MASTER|BACKUP) STATE`)

func addressesOn(t *testing.T, n *lab.Node) string {
	t.Helper()
	return must(n.Run("ip", "-o", "-4", "addr", "show"))(t)
}
