//go:build netns

package netnstests

import (
	"fmt"
	"net/netip"
	"os"
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
	p := must(trial.Keepvip{}.Run(own, "--keepalived-conf", conf))(t)
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
	t.Parallel()
	holds := func(n *lab.Node) bool { return n.Holds(lab.VIP4) && n.Holds(lab.VIP6) }
	for name, conf := range map[string]func(t *testing.T, n, peer *lab.Node, priority int) string{
		"every hop limit": func(t *testing.T, n, peer *lab.Node, priority int) string {
			return confOf(t, n, priority, "", fmt.Sprintf("unicast_ttl 64\n unicast_peer {\n  %s\n }", peer.Address),
				fmt.Sprintf("unicast_src_ip %s\n unicast_peer {\n  %s\n }", n.Addr6, peer.Addr6))
		},
		"another group": func(t *testing.T, n, _ *lab.Node, priority int) string {
			return confOf(t, n, priority, "global_defs {\n vrrp_mcast_group4 224.0.0.55\n vrrp_mcast_group6 ff02::55\n}\n", "mcast_src_ip "+n.Address.String(), "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // seconds of waiting for timers
			g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 3}})
			other, own, stranger := g.Lab.Nodes[0], g.Lab.Nodes[1], g.Lab.Nodes[2]
			k := must(trial.RunKeepalivedFile(other, conf(t, other, own, 150)))(t)
			eventually(t, 10*time.Second, "keepalived is alone", func() bool { return holds(other) })
			p := hearsTheHolder(t, g, own, conf(t, own, other, 100))
			conf(t, own, other, 200)
			require.NoError(t, p.Signal(unix.SIGHUP))
			eventually(t, 10*time.Second, "keepalived hears it", func() bool { return holds(own) && !other.Holds(lab.VIP4) && !other.Holds(lab.VIP6) })
			if name == "another group" {
				must(trial.RunKeepalivedFile(stranger, confOf(t, stranger, 250, "", "mcast_src_ip "+stranger.Address.String(), "")))(t)
				eventually(t, 10*time.Second, "the usual group is another one", func() bool { return holds(stranger) && holds(own) })
			}
			if t.Failed() {
				t.Log(k.Log(), p.Log())
			}
		})
	}
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

// steppedConf is what most files of pairs come to: a check, and scripts that are told. PATH is the node's directory.
const steppedConf = `global_defs {
 script_user root
}
vrrp_script check {
 script "/usr/bin/test -e PATH/good"
 interval 1
 fall 2
 rise 1
%s
}
%s
vrrp_instance VI_1 {
 state %s
 interface eth0
 virtual_router_id 51
 priority 110
 advert_int 1
 %s
 authentication {
  auth_type PASS
  auth_pass 1111
 }
 virtual_ipaddress {
  %s/24 dev eth0 label eth0:1
 }
 track_script {
  check
 }
 notify_master "PATH/notify.sh MASTER"
 notify_backup "PATH/notify.sh BACKUP"
 notify_fault "PATH/notify.sh FAULT"
 notify_stop "PATH/notify.sh STOP"
}
`

// A pair's file is gone through step by step, beside a keepalived of priority 100: the start, a check that fails and is good again, SIGHUP, the
// stop. keepalived and keepvip hold the address at the same steps, and call the same scripts in the same order.
func TestKeepalivedConfTakesKeepalivedsSteps(t *testing.T) {
	t.Parallel() // seconds of waiting for timers
	programs := map[string]func(*lab.Node, string) (*lab.Process, error){
		"keepalived": trial.RunKeepalivedFile,
		"keepvip": func(n *lab.Node, conf string) (*lab.Process, error) {
			return trial.Keepvip{}.Run(n, "--keepalived-conf", conf)
		},
	}
	for name, tt := range map[string]struct {
		weight, group, state, preempt string
		told                          [4]string // after the start, the failure, when all is good again, and after the stop
	}{
		"a weight": {
			weight: " weight -20", state: "MASTER",
			told: [4]string{"BACKUP MASTER", "BACKUP MASTER BACKUP", "BACKUP MASTER BACKUP MASTER", "BACKUP MASTER BACKUP MASTER STOP"},
		},
		"a weight above 0": {
			weight: " weight 20", state: "MASTER",
			told: [4]string{"BACKUP MASTER", "BACKUP MASTER", "BACKUP MASTER", "BACKUP MASTER STOP"},
		},
		"a condition": {
			state: "BACKUP",
			told:  [4]string{"BACKUP MASTER", "BACKUP MASTER FAULT", "BACKUP MASTER FAULT BACKUP MASTER", "BACKUP MASTER FAULT BACKUP MASTER STOP"},
		},
		"a condition, and no preemption": {
			state: "BACKUP", preempt: "nopreempt",
			told: [4]string{"BACKUP", "BACKUP FAULT", "BACKUP FAULT BACKUP", "BACKUP FAULT BACKUP STOP"},
		},
		"a group of its own": {
			group: "vrrp_sync_group G {\n group {\n  VI_1\n }\n}", state: "MASTER",
			told: [4]string{"BACKUP MASTER", "BACKUP MASTER FAULT", "BACKUP MASTER FAULT BACKUP MASTER", "BACKUP MASTER FAULT BACKUP MASTER STOP"},
		},
	} {
		for program, run := range programs {
			t.Run(name+"/"+program, func(t *testing.T) {
				t.Parallel()
				g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 2}})
				rival, own := g.Lab.Nodes[0], g.Lab.Nodes[1]
				must(trial.RunKeepalived(rival, trial.Router{
					Name: "VI_1", Flavor: trial.Flavor{Version: 2, Password: "1111"},
					Settings: trial.Settings{VRID: 51, Priority: 100, Interval: time.Second, Addresses: []netip.Addr{lab.VIP4}},
				}))(t)
				eventually(t, 10*time.Second, "the rival holds the address", func() bool { return rival.Holds(lab.VIP4) })
				must(own.WriteFile("notify.sh", fmt.Sprintf("#!/bin/sh\necho \"$1\" >> %s\n", own.Path("told")), 0o755))(t)
				good := func(is bool) {
					if _, err := own.WriteFile("good", "", 0o644); err != nil || is {
						require.NoError(t, err)
						return
					}
					require.NoError(t, os.Remove(own.Path("good")))
				}
				told := func(want, when string) {
					t.Helper()
					holds := strings.HasSuffix(want, "MASTER")
					eventually(t, 20*time.Second, when+": "+want, func() bool {
						text, _ := os.ReadFile(own.Path("told"))
						return strings.Join(strings.Fields(string(text)), " ") == want && own.Holds(lab.VIP4) == holds && rival.Holds(lab.VIP4) == !holds
					})
				}
				good(true)
				text := strings.ReplaceAll(fmt.Sprintf(steppedConf, tt.weight, tt.group, tt.state, tt.preempt, lab.VIP4), "PATH", own.Dir)
				p := must(run(own, must(own.WriteFile("pair.conf", text, 0o644))(t)))(t)
				told(tt.told[0], "start")
				good(false)
				told(tt.told[1], "the check fails")
				good(true)
				told(tt.told[2], "the check is good again")
				require.NoError(t, p.Signal(unix.SIGHUP))
				changed := func() bool {
					text, _ := os.ReadFile(own.Path("told"))
					return strings.Join(strings.Fields(string(text)), " ") != tt.told[2]
				}
				assert.Never(t, changed, 2*time.Second, 50*time.Millisecond, "a reload of the same file changes nothing")
				assert.Zero(t, must(p.Terminate(10*time.Second))(t), p.Log())
				told(tt.told[3], "stop")
			})
		}
	}
}
