//go:build netns

package netnstests

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

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
				writesDown(t, own)
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
						return calledWith(own) == want && own.Holds(lab.VIP4) == holds && rival.Holds(lab.VIP4) == !holds
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
				changed := func() bool { return calledWith(own) != tt.told[2] }
				assert.Never(t, changed, 2*time.Second, 50*time.Millisecond, "a reload of the same file changes nothing")
				assert.Zero(t, must(p.Terminate(10*time.Second))(t), p.Log())
				told(tt.told[3], "stop")
			})
		}
	}
}
