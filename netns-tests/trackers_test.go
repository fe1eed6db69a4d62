//go:build netns

package netnstests

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
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
