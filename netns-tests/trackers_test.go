//go:build netns

package netnstests

import (
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// trackersConf tracks the number in a file, and with a reversed weight whether another is there.
const trackersConf = `track_file load {
 file "%[1]s/load"
 weight 2
}
vrrp_script busy {
 script "/usr/bin/test -e %[1]s/busy"
 interval 1
 weight 40 reverse
}
vrrp_instance VI_1 {
 state BACKUP
 interface %[2]s
 virtual_router_id 51
 priority 90
 version 3
 advert_int 0.2
 virtual_ipaddress {
  %[3]s label %[2]s:vip
 }
 virtual_ipaddress_excluded {
  %[4]s
 }
 track_file {
  load
 }
 track_script {
  busy
 }
}
`

// What is tracked moves the address as it does in keepalived: both take the same steps with the same file, against a keepalived of priority 100,
// which does not take advertisements that name the excluded address.
func TestTrackersMoveTheAddressAsInKeepalived(t *testing.T) {
	each(t, programs, func(t *testing.T, run program) {
		g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 2}})
		rival, own := g.Lab.Nodes[0], g.Lab.Nodes[1]
		must(trial.RunKeepalived(rival, trial.Router{Name: "VI_1", Settings: trial.Settings{
			VRID: 51, Priority: 100, Interval: 200 * time.Millisecond, Addresses: []netip.Addr{lab.VIP4},
		}}))(t)
		dir := t.TempDir()
		for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
			require.NoError(t, os.Chmod(d, 0o755)) // the script runs as somebody else
		}
		conf := must(own.WriteFile("trackers.conf", fmt.Sprintf(trackersConf, dir, own.NICs[0].Name, lab.VIP4, lab.VIP4.Next()), 0o644))(t)
		must(run(own, conf))(t)
		load, busy := filepath.Join(dir, "load"), filepath.Join(dir, "busy")
		write := func(path, text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o644)) }
		for _, step := range []struct {
			name string
			do   func()
			want *lab.Node
		}{
			{"90: no file is the number 0", func() {}, rival},
			{"110: 2 times 10", func() { write(load, "10\n") }, own},
			{"70: the script is good", func() { write(busy, "") }, rival},
			{"114: 2 times 0x20", func() { write(load, "0x20") }, own},
			{"FAULT: 2 times -127", func() { write(load, "-127") }, rival},
			{"84: 2 times 17, less 40", func() { write(load, "17 and text") }, rival},
			{"124: the script is bad", func() { require.NoError(t, os.Remove(busy)) }, own},
			{"90: no file again", func() { require.NoError(t, os.Remove(load)) }, rival},
		} {
			step.do()
			eventually(t, 10*time.Second, step.name, func() bool {
				return rival.Holds(lab.VIP4) == (step.want == rival) && own.Holds(lab.VIP4) == (step.want == own) &&
					own.Holds(lab.VIP4.Next()) == (step.want == own)
			})
			if step.want == own {
				out := must(own.Run("ip", "-o", "-4", "address", "show", "label", own.NICs[0].Name+":vip"))(t)
				assert.Contains(t, out, lab.VIP4.String(), step.name)
			}
		}
	})
}

var scenarioSeed = flag.Uint64("scenario-seed", 1, "of the check scripts that keepalived and keepvip are given")

// decisions are what a check's results led to: + when it became good, - when it became bad.
type decisions map[int]string

// decided reads them in a log, in which a check is named check_ID or check-ID.
func decided(log string, line *regexp.Regexp) decisions {
	out := decisions{}
	for _, m := range line.FindAllStringSubmatch(log, -1) {
		id, _ := strconv.Atoi(m[1])
		out[id] += map[string]string{"succeeded": "+", "true": "+"}[m[2]]
		if m[2] == "failed" || m[2] == "false" {
			out[id] += "-"
		}
	}
	return out
}

var (
	keepalivedDecides = regexp.MustCompile(`VRRP_Script\(check_(\d+)\) (succeeded|failed)`)
	keepvipDecides    = regexp.MustCompile(`msg="health changed" .*check=check-(\d+) healthy=(true|false)`)
	keepalivedWeighs  = regexp.MustCompile(`\(VI_(\d+)\) Changing effective priority from \d+ to (\d+)`)
)

// runScenarios runs them on a node of their own until every script was run so often that nothing can change any more. The scripts are not short of
// time, so that a machine that is late changes no decision.
func runScenarios(t *testing.T, all []trial.Scenario, run program) (*lab.Node, *lab.Process) {
	t.Helper()
	l := must(host.Open(lab.Config{Nodes: 1}))(t)
	t.Cleanup(l.Close)
	n := l.Nodes[0]
	p := must(run(n, must(trial.WriteScenarios(n, all))(t)))(t)
	eventually(t, 3*time.Minute, "every script was run often enough", func() bool {
		return !slices.ContainsFunc(all, func(s trial.Scenario) bool { return !s.Over(n) })
	})
	require.True(t, p.Alive(), p.Log())
	return n, p
}

// With the same file, and scripts that fail in the same way, keepvip takes the same decisions as keepalived: rise, fall, interval, weight,
// init_fail and the way in which the runs end are drawn.
func TestCheckScriptsDecideAsInKeepalived(t *testing.T) {
	all := trial.Scenarios(*scenarioSeed, 30)
	var nodes [2]*lab.Node
	var daemons [2]*lab.Process
	var both sync.WaitGroup
	for i, run := range []program{trial.RunKeepalivedFile, trial.KeepvipWith} {
		both.Go(func() { nodes[i], daemons[i] = runScenarios(t, all, run) })
	}
	both.Wait()
	require.False(t, t.Failed())
	theirs, ours := decided(daemons[0].Log(), keepalivedDecides), decided(daemons[1].Log(), keepvipDecides)
	weights := map[int]int{}
	for _, m := range keepalivedWeighs.FindAllStringSubmatch(daemons[0].Log(), -1) {
		id, _ := strconv.Atoi(m[1])
		weights[id], _ = strconv.Atoi(m[2])
	}
	changes := 0
	for _, s := range all {
		changes += len(theirs[s.ID])
		assert.Equal(t, theirs[s.ID], ours[s.ID], "%+v", s)
		if want, weighs := weights[s.ID]; weighs {
			eventually(t, 30*time.Second, fmt.Sprintf("%+v: priority %d in the end", s, want), func() bool {
				status, err := trial.Keepvip{}.Status(nodes[1])
				return err == nil && slices.ContainsFunc(status.VIPs, func(v trial.VIPStatus) bool { return v.VRID == s.ID && v.Priority == want })
			})
		}
	}
	t.Logf("%d scenarios, %d changes", len(all), changes)
	assert.Greater(t, changes, len(all))
}
