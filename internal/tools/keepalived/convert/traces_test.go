package convert

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// beside are lines of an instance that may mean nothing beside others of it. \n ends a line of a block.
const beside = `state MASTER|priority 3|version 2|advert_int 2|advert_int 0.5|mcast_src_ip 10.0.0.7|unicast_src_ip 10.0.0.7|unicast_peer {\n10.0.0.18\n}
unicast_peer {\n10.0.0.18 min_ttl 3\n}|track_src_ip|unicast_ttl 64|check_unicast_src|unicast_fault_no_peer|old_unicast_checksum|v3_checksum_as_v2
mcast_dst_ip 224.0.0.9|preempt_delay 5|track_interface {\ne1\n}|track_interface {\ne1 weight -3\n}|track_file {\ntf\n}|track_file {\ntf weight 2\n}
track_process {\ntp\n}|track_process {\ntp weight 3\n}|track_script {\ns weight 3\n}|track_script {\ns\n}|dont_track_primary|linkbeat_use_polling
garp_master_delay 1|garp_master_repeat 2|garp_master_refresh 60|garp_master_refresh_repeat 2|garp_lower_prio_delay 1|lower_prio_no_advert
higher_prio_send_advert|down_timer_adverts 6|timer_expired_backup|skip_check_adv_addr|no_accept|use_vmac|promote_secondaries|native_ipv6|notify /n
notify_master /n|notify_deleted|notify_priority_changes|smtp_alert|virtual_ipaddress_excluded {\nfd00::1\n}|virtual_ipaddress {\n10.0.0.3 label x\n}
authentication {\nauth_type PASS\nauth_pass x\n}|authentication {\nauth_pass x\n}|auth_hmac {\nkey 1 hex:00\n}`

// A line that keepalived takes no notice of beside another one is said, too.
func TestConvertSaysWhatMeansNothingBesideAnother(t *testing.T) {
	known := map[string]string{"master": "state MASTER", "unicast": "", "owner": "", "nopreempt": "", "strict": ""} // the same again
	for name, other := range map[string]string{
		"unicast":   "unicast_src_ip 10.0.0.9\nunicast_peer {\n10.0.0.8\n}\nversion 3",
		"owner":     "priority 255",
		"master":    "state MASTER\npriority 101",
		"nopreempt": "nopreempt",
		"strict":    "version 3\nstrict_mode",
	} {
		all := func(line string) string {
			r := converted(t, "vrrp_script s {\nscript /bin/true\n}\ntrack_file tf {\nfile /run/f\n}\nvrrp_track_process tp {\nprocess p\n}\n"+
				"vrrp_instance a {\ninterface eth0\nvirtual_router_id 5\n"+other+"\nvirtual_ipaddress {\n10.0.0.1\n}\n"+line+"\n}\n", Options{Partial: true})
			return lineNumber.ReplaceAllString(string(r.Text)+shown(r), "")
		}
		plainly := all("")
		for line := range strings.FieldsFuncSeq(beside, func(r rune) bool { return r == '|' || r == '\n' }) {
			if line != known[name] {
				assert.NotEqual(t, plainly, all(strings.ReplaceAll(line, `\n`, "\n")), "%s beside %s", line, name)
			}
		}
	}
}
