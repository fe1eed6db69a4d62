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
	told := func(n *lab.Node, want string) {
		t.Helper()
		eventually(t, 20*time.Second, n.Label+" is told "+want, func() bool {
			text, _ := os.ReadFile(n.Path("told"))
			return strings.Join(strings.Fields(string(text)), " ") == want
		})
	}
	before := addressesOn(t, own)

	_, err := trial.RunKeepalivedFile(other, conf(other, 100))
	require.NoError(t, err)
	told(other, "BACKUP MASTER")
	p, err := trial.Keepvip{}.Run(own, "--keepalived-conf", conf(own, 150))
	require.NoError(t, err)
	told(own, "BACKUP MASTER")
	told(other, "BACKUP MASTER BACKUP")
	assert.Equal(t, before, addressesOn(t, own), "nothing is bound")
	status, _, err := trial.Keepvip{}.Command(own, "status", "--socket", trial.Socket(own))
	require.NoError(t, err)
	assert.Contains(t, status.Stdout(), "hooks move the address")
	_, err = p.Terminate(10 * time.Second)
	require.NoError(t, err)
	told(own, "BACKUP MASTER STOP")
	told(other, "BACKUP MASTER BACKUP MASTER")

	_, err = trial.Keepvip{}.Run(own, "--keepalived-conf", conf(own, 50))
	require.NoError(t, err)
	told(own, "BACKUP MASTER STOP BACKUP")
	told(other, "BACKUP MASTER BACKUP MASTER")
}

func addressesOn(t *testing.T, n *lab.Node) string {
	t.Helper()
	out, err := n.Run("ip", "-o", "-4", "addr", "show")
	require.NoError(t, err)
	return out
}
