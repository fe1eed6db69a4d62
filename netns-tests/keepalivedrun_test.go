//go:build netns

package netnstests

import (
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// program runs a keepalived.conf as it is.
type program = func(n *lab.Node, conf string) (*lab.Process, error)

var programs = map[string]program{"keepalived": trial.RunKeepalivedFile, "keepvip": trial.KeepvipWith}

// writesDown makes the script notify.sh of a node, which writes down what it is called with.
func writesDown(t *testing.T, n *lab.Node) {
	t.Helper()
	must(n.WriteFile("notify.sh", fmt.Sprintf("#!/bin/sh\necho \"$1\" >> %s\n", n.Path("told")), 0o755))(t)
}

// calledWith is what that script was called with so far.
func calledWith(n *lab.Node) string {
	text, _ := os.ReadFile(n.Path("told"))
	return strings.Join(strings.Fields(string(text)), " ")
}

// A keepalived.conf as it is, with a password that no file of keepvip's holds, beside a keepalived with the same.
func TestKeepalivedConfBesideKeepalived(t *testing.T) {
	t.Parallel() // seconds of waiting for timers
	g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 2}})
	other, own := g.Lab.Nodes[0], g.Lab.Nodes[1]
	router := func(priority int) trial.Router {
		return trial.Router{
			Name: "VI_1", Flavor: trial.Flavor{Version: 2, Password: "k8s-pass"},
			Settings: trial.Settings{VRID: 51, Priority: priority, Interval: time.Second, Addresses: []netip.Addr{lab.VIP4}},
		}
	}
	holds := func(n *lab.Node, why string) {
		t.Helper()
		eventually(t, 10*time.Second, why, func() bool {
			return n.Holds(lab.VIP4) && !(other.Holds(lab.VIP4) && own.Holds(lab.VIP4))
		})
	}
	must(trial.RunKeepalived(other, router(100)))(t)
	holds(other, "keepalived is alone")
	p := must(trial.RunKeepalivedConf(own, router(150)))(t)
	holds(own, "the higher priority preempts")
	code := must(p.Terminate(10 * time.Second))(t)
	assert.Zero(t, code)
	holds(other, "keepvip has left")

	p = must(trial.RunUnderKeepalivedsName(own, router(150)))(t)
	holds(own, "it is back, by keepalived's command line")
	assert.Equal(t, strconv.Itoa(p.PID())+"\n", string(must(os.ReadFile(trial.KeepalivedPID(own)))(t)))
	must(trial.WriteKeepalivedConf(own, router(50)))(t)
	require.NoError(t, p.Signal(unix.SIGHUP))
	holds(other, "the priority is below keepalived's since the reload")
	assert.NotContains(t, p.Log(), "k8s-pass")
	code = must(p.Terminate(10 * time.Second))(t)
	assert.Zero(t, code)
	assert.NoFileExists(t, trial.KeepalivedPID(own))
}

// hearsTheHolder starts keepvip on a node, and asserts that it leaves the addresses to the better node that has them, unless that one had ceased to
// advertise.
func hearsTheHolder(t *testing.T, g *trial.Group, own *lab.Node, conf string) *lab.Process {
	t.Helper()
	m := must(g.Lab.Measure(lab.MeasureConfig{NoDirect: true}))(t)
	p := must(trial.KeepvipWith(own, conf))(t)
	settleFor(1500 * time.Millisecond)
	r := m.Stop()
	require.NoError(t, r.Blind)
	if said := r.AdvertsOf(own.ID, 0, r.Ended); len(said) > 0 {
		assert.NotZero(t, r.Silences(0), "it does not hear the holder: %+v", said[0])
	}
	return p
}

// confOf is a keepalived.conf of two instances, for IPv4 and for IPv6, with more in each of them.
func confOf(t *testing.T, n *lab.Node, priority int, global, four, six string) string {
	t.Helper()
	text := global
	for _, i := range []struct {
		name, more string
		id         int
		address    netip.Addr
	}{{"FOUR", "version 3\n " + four, 1, lab.VIP4}, {"SIX", six, 2, lab.VIP6}} {
		text += fmt.Sprintf("vrrp_instance %s {\n interface eth0\n virtual_router_id %d\n advert_int 0.1\n priority %d\n %s\n virtual_ipaddress {\n  %s\n }\n}\n", i.name, i.id, priority, i.more, i.address)
	}
	return must(n.WriteFile("keepalived.conf", text, 0o644))(t)
}

// Peers that send with another hop limit than 255, as keepalived does by IPv6 unless it is told, are heard. Nodes with another multicast group hear each
// other, and not those of the usual one.
func TestKeepalivedConfHearsHopLimitsAndGroups(t *testing.T) {
	holds := func(n *lab.Node) bool { return n.Holds(lab.VIP4) && n.Holds(lab.VIP6) }
	const anotherGroup = "global_defs {\n vrrp_mcast_group4 224.0.0.55\n vrrp_mcast_group6 ff02::55\n}\n"
	type row struct {
		conf   func(t *testing.T, n, peer *lab.Node, priority int) string
		beside bool // a node of the usual group
	}
	each(t, map[string]row{
		"every hop limit": {conf: func(t *testing.T, n, peer *lab.Node, priority int) string {
			return confOf(t, n, priority, "", fmt.Sprintf("unicast_ttl 64\n unicast_peer {\n  %s\n }", peer.Address),
				fmt.Sprintf("unicast_src_ip %s\n unicast_peer {\n  %s\n }", n.Addr6, peer.Addr6))
		}},
		"another group": {func(t *testing.T, n, _ *lab.Node, priority int) string {
			return confOf(t, n, priority, anotherGroup, "mcast_src_ip "+n.Address.String(), "")
		}, true},
	}, func(t *testing.T, c row) {
		g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 3}})
		other, own, stranger := g.Lab.Nodes[0], g.Lab.Nodes[1], g.Lab.Nodes[2]
		k := must(trial.RunKeepalivedFile(other, c.conf(t, other, own, 150)))(t)
		eventually(t, 10*time.Second, "keepalived is alone", func() bool { return holds(other) })
		p := hearsTheHolder(t, g, own, c.conf(t, own, other, 100))
		c.conf(t, own, other, 200)
		require.NoError(t, p.Signal(unix.SIGHUP))
		eventually(t, 10*time.Second, "keepalived hears it", func() bool { return holds(own) && !other.Holds(lab.VIP4) && !other.Holds(lab.VIP6) })
		if c.beside {
			must(trial.RunKeepalivedFile(stranger, confOf(t, stranger, 250, "", "mcast_src_ip "+stranger.Address.String(), "")))(t)
			eventually(t, 10*time.Second, "the usual group is another one", func() bool { return holds(stranger) && holds(own) })
		}
		if t.Failed() {
			t.Log(k.Log(), p.Log())
		}
	})
}

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

// An instance without an address, whose scripts would move a cloud's: one keepalived.conf for keepalived and keepvip, in both roles. The
// scripts are called as keepalived calls them, and nothing is bound.
func TestInstanceWithoutAddressBesideKeepalived(t *testing.T) {
	t.Parallel() // seconds of waiting for timers
	g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 2}})
	other, own := g.Lab.Nodes[0], g.Lab.Nodes[1]
	for _, n := range g.Lab.Nodes {
		writesDown(t, n)
	}
	conf := func(n *lab.Node, priority int) string {
		text := fmt.Sprintf("global_defs {\n script_user root\n}\nvrrp_instance VI_1 {\n interface eth0\n virtual_router_id 51\n priority %d\n", priority)
		for _, state := range []string{"master", "backup", "stop"} {
			text += fmt.Sprintf(" notify_%s \"%s %s\"\n", state, n.Path("notify.sh"), strings.ToUpper(state))
		}
		return must(n.WriteFile("keepalived.conf", text+"}\n", 0o644))(t)
	}
	// told waits until what keepvip has told last is this. A holder that was late may have told of a move more.
	told := func(last string) {
		t.Helper()
		eventually(t, 20*time.Second, own.Label+" is told "+last, func() bool { return strings.HasSuffix(calledWith(own), last) })
		assert.Regexp(t, `^(BACKUP( MASTER BACKUP)*( MASTER)?( STOP ?)?)+$`, calledWith(own), "it is told of each change once")
	}
	before := addressesOn(t, own)

	keepalived := must(trial.RunKeepalivedFile(other, conf(other, 100)))(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("keepalived has said:\n%s\nits scripts: %s\nthose of keepvip: %s", keepalived.Log(), calledWith(other), calledWith(own))
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
			said := strings.Fields(calledWith(other))
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
