//go:build netns

package netnstests

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
		_, err := n.WriteFile("notify.sh", fmt.Sprintf("#!/bin/sh\necho \"$1\" >> %s\n", n.Path("told")), 0o755)
		require.NoError(t, err)
	}
	conf := func(n *lab.Node, priority int) string {
		text := fmt.Sprintf("global_defs {\n script_user root\n}\nvrrp_instance VI_1 {\n interface eth0\n virtual_router_id 51\n priority %d\n", priority)
		for _, state := range []string{"master", "backup", "stop"} {
			text += fmt.Sprintf(" notify_%s \"%s %s\"\n", state, n.Path("notify.sh"), strings.ToUpper(state))
		}
		path, err := n.WriteFile("keepalived.conf", text+"}\n", 0o644)
		require.NoError(t, err)
		return path
	}
	// told waits until what a node has been told last is this. A holder that was late may have been told of a move more.
	told := func(n *lab.Node, last string) {
		t.Helper()
		var all string
		eventually(t, 20*time.Second, n.Label+" is told "+last, func() bool {
			text, _ := os.ReadFile(n.Path("told"))
			all = strings.Join(strings.Fields(string(text)), " ")
			return strings.HasSuffix(all, last)
		})
		assert.Regexp(t, `^(BACKUP( MASTER BACKUP)*( MASTER)?( STOP ?)?)+$`, all, "%s is told of each change once", n.Label)
	}
	before := addressesOn(t, own)

	_, err := trial.RunKeepalivedFile(other, conf(other, 100))
	require.NoError(t, err)
	told(other, "BACKUP MASTER")
	p, err := trial.Keepvip{}.Run(own, "--keepalived-conf", conf(own, 150))
	require.NoError(t, err)
	told(own, "BACKUP MASTER")
	told(other, "MASTER BACKUP")
	assert.Equal(t, before, addressesOn(t, own), "nothing is bound")
	status, _, err := trial.Keepvip{}.Command(own, "status", "--socket", trial.Socket(own))
	require.NoError(t, err)
	assert.Contains(t, status.Stdout(), "hooks move the address")
	_, err = p.Terminate(10 * time.Second)
	require.NoError(t, err)
	told(own, "STOP")
	told(other, "BACKUP MASTER")

	_, err = trial.Keepvip{}.Run(own, "--keepalived-conf", conf(own, 50))
	require.NoError(t, err)
	told(own, "BACKUP")
	told(other, "BACKUP MASTER")
}

func addressesOn(t *testing.T, n *lab.Node) string {
	t.Helper()
	out, err := n.Run("ip", "-o", "-4", "addr", "show")
	require.NoError(t, err)
	return out
}
