package convert

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/tools/keepalived"
)

// documented are the keywords that files for control planes use, where they stand, and a line that says something else than the default.
// One that makes no difference by itself has the lines that it is compared with, too. Behind … are options of an address, and of a file.
var documented = []struct{ where, keyword, line, than string }{
	{"instance", "state", "state MASTER", ""},
	{"instance", "interface", "interface eth5", ""},
	{"instance", "virtual_router_id", "virtual_router_id 7", ""},
	{"instance", "priority", "priority 120", ""},
	{"instance", "advert_int", "advert_int 2", ""},
	{"instance", "version", "version 3", ""},
	{"instance", "nopreempt", "nopreempt", ""},
	{"instance", "preempt_delay", "preempt_delay 5", ""},
	{"instance", "down_timer_adverts", "down_timer_adverts 5", ""},
	{"instance", "virtual_ipaddress", "virtual_ipaddress {\n10.0.0.3/24\n}", ""},
	{"instance", "… dev", "virtual_ipaddress {\n10.0.0.3 dev eth9\n}", ""},
	{"instance", "… label", "virtual_ipaddress {\n10.0.0.3 label eth0:1\n}", ""},
	{"instance", "… scope", "virtual_ipaddress_excluded {\n10.0.0.3 scope link\n}", "virtual_ipaddress_excluded {\n10.0.0.3\n}"},
	{"instance", "… brd", "virtual_ipaddress_excluded {\n10.0.0.3/24 brd +\n}", "virtual_ipaddress_excluded {\n10.0.0.3/24\n}"},
	{"instance", "… peer", "virtual_ipaddress_excluded {\n10.0.0.3 peer 10.0.0.4\n}", "virtual_ipaddress_excluded {\n10.0.0.3\n}"},
	{"instance", "… preferred_lft", "virtual_ipaddress_excluded {\nfd00::3 preferred_lft 60\n}", "virtual_ipaddress_excluded {\nfd00::3\n}"},
	{"instance", "… home", "virtual_ipaddress_excluded {\nfd00::3 home\n}", "virtual_ipaddress_excluded {\nfd00::3\n}"},
	{"instance", "… autojoin", "virtual_ipaddress_excluded {\nfd00::3 autojoin\n}", "virtual_ipaddress_excluded {\nfd00::3\n}"},
	{"instance", "… no_track", "virtual_ipaddress_excluded {\n10.0.0.3 dev eth9 no_track\n}", "virtual_ipaddress_excluded {\n10.0.0.3 dev eth9\n}"},
	{"instance", "virtual_ipaddress_excluded", "virtual_ipaddress_excluded {\n10.0.0.3\n}", ""},
	{"instance", "authentication, auth_type PASS", "authentication {\nauth_type PASS\nauth_pass x\n}", ""},
	{"instance", "auth_type AH", "authentication {\nauth_type AH\nauth_pass x\n}", ""},
	{"instance", "unicast_peer", "unicast_peer {\n10.0.0.8\n}", ""},
	{"instance", "unicast_src_ip", "unicast_peer {\n10.0.0.8\n}\nunicast_src_ip 10.0.0.9", "unicast_peer {\n10.0.0.8\n}"},
	{"instance", "unicast_ttl", "unicast_peer {\n10.0.0.8\n}\nunicast_ttl 64", "unicast_peer {\n10.0.0.8\n}"},
	{"instance", "mcast_src_ip", "mcast_src_ip 10.0.0.9", ""},
	{"instance", "mcast_dst_ip", "mcast_dst_ip 224.0.0.9", ""},
	{"instance", "track_src_ip", "track_src_ip", ""},
	{"instance", "check_unicast_src", "unicast_peer {\n10.0.0.8\n}\ncheck_unicast_src", "unicast_peer {\n10.0.0.8\n}"},
	{"instance", "v3_checksum_as_v2", "version 3\nv3_checksum_as_v2", "version 3"},
	{"instance", "track_script", "track_script {\ns\n}", ""},
	{"instance", "track_interface", "track_interface {\neth7 weight 3\n}", ""},
	{"instance", "track_file", "track_file {\ntf\n}", ""},
	{"instance", "track_process", "track_process {\ntp\n}", ""},
	{"instance", "dont_track_primary", "dont_track_primary", ""},
	{"instance", "garp_master_delay", "garp_master_delay 1", ""},
	{"instance", "garp_master_repeat", "garp_master_repeat 2", ""},
	{"instance", "garp_master_refresh", "garp_master_refresh 30", ""},
	{"instance", "garp_master_refresh_repeat", "garp_master_refresh_repeat 2", ""},
	{"instance", "garp_lower_prio_delay", "garp_lower_prio_delay 1", ""},
	{"instance", "garp_lower_prio_repeat", "garp_lower_prio_repeat 1", ""},
	{"instance", "lower_prio_no_advert", "lower_prio_no_advert", ""},
	{"instance", "higher_prio_send_advert", "higher_prio_send_advert", ""},
	{"instance", "skip_check_adv_addr", "skip_check_adv_addr", ""},
	{"instance", "timer_expired_backup", "timer_expired_backup", ""},
	{"instance", "strict_mode", "version 3\nstrict_mode", "version 3"},
	{"instance", "use_vmac", "use_vmac", ""},
	{"instance", "vmac_xmit_base", "use_vmac\nvmac_xmit_base", "use_vmac"},
	{"instance", "use_vmac_addr", "use_vmac\nuse_vmac_addr", "use_vmac"},
	{"instance", "use_ipvlan", "use_ipvlan", ""},
	{"instance", "virtual_routes", "virtual_routes {\n10.9.0.0/16 via 10.0.0.9\n}", ""},
	{"instance", "notify", "notify /bin/true root", ""},
	{"instance", "notify_master", "notify_master /bin/true root", ""},
	{"instance", "notify_backup", "notify_backup /bin/true root", ""},
	{"instance", "notify_fault", "notify_fault /bin/true root", ""},
	{"instance", "notify_stop", "notify_stop /bin/true root", ""},
	{"instance", "notify_master_rx_lower_pri", "notify_master_rx_lower_pri /bin/true root", ""},
	{"script", "script", "script /bin/false", ""},
	{"script", "interval", "interval 3", ""},
	{"script", "timeout", "timeout 3", ""},
	{"script", "weight", "weight -2", ""},
	{"script", "rise", "rise 2", ""},
	{"script", "fall", "fall 10", ""},
	{"script", "user", "user daemon", ""},
	{"script", "init_fail", "init_fail", ""},
	{"file", "init_file", "init_file 4", ""},
	{"file", "init_file … overwrite", "init_file 4 overwrite", ""},
	{"group", "group", "", ""},
	{"group", "group, of unequal priorities", two + "}\nvrrp_sync_group H {\ngroup {\nc\nd\n}", two},
	{"group", "track_script", "track_script {\ns\n}", ""},
	{"group", "track_interface", "track_interface {\neth7\n}", ""},
	{"group", "notify_master", "notify_master /bin/true root", ""},
	{"group", "sync_group_tracking_weight", "sync_group_tracking_weight\ntrack_interface {\neth7 weight 3\n}", ""},
	{"global_defs", "router_id", "router_id x", ""},
	{"global_defs", "script_user", "script_user daemon", ""},
	{"global_defs", "enable_script_security", "enable_script_security", ""},
	{"global_defs", "vrrp_version", "vrrp_version 3", ""},
	{"global_defs", "vrrp_garp_master_delay", "vrrp_garp_master_delay 1", ""},
	{"global_defs", "vrrp_garp_master_repeat", "vrrp_garp_master_repeat 2", ""},
	{"global_defs", "vrrp_garp_master_refresh", "vrrp_garp_master_refresh 30", ""},
	{"global_defs", "vrrp_garp_master_refresh_repeat", "vrrp_garp_master_refresh_repeat 2", ""},
	{"global_defs", "vrrp_garp_lower_prio_delay", "vrrp_garp_lower_prio_delay 1", ""},
	{"global_defs", "vrrp_garp_lower_prio_repeat", "vrrp_garp_lower_prio_repeat 1", ""},
	{"global_defs", "vrrp_garp_interval", "vrrp_garp_interval 0.1", ""},
	{"global_defs", "vrrp_gna_interval", "vrrp_gna_interval 0.1", ""},
	{"global_defs", "vrrp_mcast_group4", "vrrp_mcast_group4 224.0.0.9", ""},
	{"global_defs", "vrrp_down_timer_adverts", "vrrp_down_timer_adverts 5", ""},
	{"global_defs", "vrrp_lower_prio_no_advert", "vrrp_lower_prio_no_advert", ""},
	{"global_defs", "vrrp_higher_prio_send_advert", "vrrp_higher_prio_send_advert", ""},
	{"global_defs", "vrrp_skip_check_adv_addr", "vrrp_skip_check_adv_addr", ""},
	{"global_defs", "vrrp_check_unicast_src", "vrrp_check_unicast_src", ""},
	{"global_defs", "max_auto_priority", "max_auto_priority 4", ""},
	{"global_defs", "min_auto_priority_delay", "min_auto_priority_delay 5", ""},
	{"global_defs", "vrrp_priority", "vrrp_priority -5", ""},
	{"global_defs", "vrrp_rt_priority", "vrrp_rt_priority 5", ""},
	{"global_defs", "vrrp_no_swap", "vrrp_no_swap", ""},
	{"global_defs", "vrrp_rlimit_rttime", "vrrp_rlimit_rttime 5", ""},
	{"global_defs", "vrrp_cpu_affinity", "vrrp_cpu_affinity 1", ""},
	{"global_defs", "vrrp_strict", "vrrp_strict", ""},
	{"global_defs", "vrrp_startup_delay", "vrrp_startup_delay 5", ""},
	{"global_defs", "vrrp_delay_after_boot", "vrrp_delay_after_boot 5", ""},
	{"global_defs", "dynamic_interfaces", "dynamic_interfaces", ""},
	{"global_defs", "notify_fifo", "notify_fifo /run/keepvip/f", ""},
	{"global_defs", "vrrp_notify_fifo", "vrrp_notify_fifo /run/keepvip/f", ""},
	{"global_defs", "vrrp_notify_fifo beside notify_fifo", "notify_fifo /run/keepvip/f\nvrrp_notify_fifo /run/keepvip/g", "notify_fifo /run/keepvip/f"},
	{"global_defs", "notify_fifo_script", "notify_fifo /run/keepvip/f\nnotify_fifo_script /bin/true root", "notify_fifo /run/keepvip/f"},
	{"global_defs", "vrrp_notify_priority_changes", "vrrp_notify_priority_changes", ""},
	{"global_defs", "fifo_write_vrrp_states_on_reload", "fifo_write_vrrp_states_on_reload", ""},
	{"global_defs", "log_unknown_vrids", "log_unknown_vrids", ""},
	{"global_defs", "reload_check_config", "reload_check_config", ""},
	{"global_defs", "notification_email", "notification_email {\na@b\n}", ""},
	{"global_defs", "smtp_server", "smtp_server 127.0.0.1", ""},
	{"global_defs", "smtp_alert", "smtp_alert", ""},
}

// two ends a group, and has two instances of unequal priorities.
const two = "}\nvrrp_instance c {\ninterface eth0\nvirtual_router_id 9\npriority 7\nvirtual_ipaddress {\n10.0.0.9\n}\n}\n" +
	"vrrp_instance d {\ninterface eth0\nvirtual_router_id 10\nvirtual_ipaddress {\n10.0.0.10\n}\n"

// frame is a file with one of these lines in its place.
func frame(where, line string) string {
	at := func(here string) string {
		if here == where {
			return line
		}
		return ""
	}
	tracked := ""
	switch where {
	case "script", "global_defs":
		tracked = "track_script {\ns\n}"
	case "file":
		tracked = "track_file {\ntf\n}"
	}
	group := ""
	if where == "group" {
		group = "vrrp_sync_group G {\ngroup {\na\nb\n}\n" + line + "\n}\n"
	}
	return "global_defs {\n" + at("global_defs") + "\n}\n" +
		"vrrp_script s {\nscript /bin/true\n" + at("script") + "\n}\ntrack_file tf {\nfile /run/f\n" + at("file") + "\n}\nvrrp_track_process tp {\nprocess p\n}\n" +
		"vrrp_instance a {\ninterface eth0\nvirtual_router_id 5\nvirtual_ipaddress {\n10.0.0.1\n}\n" + tracked + at("instance") + "\n}\n" +
		"vrrp_instance b {\ninterface eth0\nvirtual_router_id 6\nvirtual_ipaddress {\n10.0.0.2\n}\n}\n" + group
}

// becomes says what becomes of a line, and why: one that is new among the findings.
func becomes(t *testing.T, where, line, than string) (what, why string) {
	t.Helper()
	with, without := converted(t, frame(where, line), Options{Partial: true}), converted(t, frame(where, than), Options{Partial: true})
	if where == "group" && line == "" {
		without = converted(t, frame("", ""), Options{Partial: true})
	}
	known := map[string]bool{}
	for _, f := range without.Findings {
		known[f.Text] = true
	}
	worst := map[keepalived.Severity]string{}
	for _, f := range with.Findings {
		if !known[f.Text] && worst[f.Severity] == "" && f.Code != codeSecret && f.Code != keepalived.CodeNewer && f.Code != keepalived.CodeDuplicate && !strings.HasPrefix(f.Text, "nothing tracks") {
			worst[f.Severity] = f.Text
		}
	}
	said := worst[keepalived.Warning]
	if said == "" {
		said = worst[keepalived.Note]
	}
	switch {
	case worst[keepalived.Fault] != "":
		return "refused", worst[keepalived.Fault]
	case bare(with.Text) != bare(without.Text):
		return "honoured", said
	case worst[keepalived.Warning] != "":
		return "left out, with a warning", said
	}
	return "needless", said
}

// bare is a text without its comments.
func bare(text []byte) string {
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		before, _, _ := strings.Cut(line, "  # ")
		b.WriteString(strings.TrimSpace(before) + "\n")
	}
	return b.String()
}

// The table of keywords in the documentation is what becomes of them. UPDATE_GOLDEN=1 writes it.
func TestKeywordsAreTheDocumentation(t *testing.T) {
	const path, begin, end = "../../../../docs/migrate-keepalived.md", "| where | keyword | what becomes of it | |\n|---|---|---|---|\n", "\n\n"
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), begin)
	require.True(t, ok, "no table of keywords")
	table, after, ok := strings.Cut(rest, end)
	require.True(t, ok)
	var rows []string
	count := map[string]int{}
	for _, d := range documented {
		what, why := becomes(t, d.where, d.line, d.than)
		if what == "needless" && d.keyword != "group" {
			require.NotEmpty(t, why, d.keyword)
		}
		count[what]++
		why, _, _ = strings.Cut(strings.TrimPrefix(why, strings.TrimPrefix(d.keyword, "… ")+": "), "; ")
		rows = append(rows, fmt.Sprintf("| `%s` | `%s` | %s | %s |", d.where, d.keyword, what, strings.ReplaceAll(why, "|", `\|`)))
	}
	t.Log(count)
	want := strings.Join(rows, "\n")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(path, []byte(before+begin+want+end+after), 0o644))
		table = want
	}
	assert.Equal(t, want, table, "regenerate with make golden and review the difference")
}

// No keyword is in two rows.
func TestDocumentedKeywordsAreOnce(t *testing.T) {
	seen := []string{}
	for _, d := range documented {
		require.NotContains(t, seen, d.where+d.keyword)
		seen = append(seen, d.where+d.keyword)
	}
}
