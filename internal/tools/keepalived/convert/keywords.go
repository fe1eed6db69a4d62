package convert

import (
	"slices"
	"strings"

	"github.com/keepvip/keepvip/internal/tools/keepalived"
	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
)

// fate is what becomes of a keyword that is never carried over.
type fate struct {
	severity     keepalived.Severity
	code         string
	text, remedy string
}

// Remedies and reasons that several keywords share.
const (
	noVMAC       = "keepvip has the virtual MAC of RFC 9568 on the interface of the instance alone, and hosts that have another one would ask a node that is no longer there"
	noVMACRemedy = "remove it on all nodes, and reload keepalived; then convert"
	noHost       = "keepvip configures no host, and what keepalived has set up goes when keepalived stops"
	hostRemedy   = "move it to the host's network configuration first, then take it out of this file"
	noRoutes     = "keepvip moves addresses, and neither routes nor rules"
	routesRemedy = "set them on all nodes in the host's network configuration, or by a hook (docs/hooks.md has a recipe), and take them out of this file for the conversion"
	noBFD        = "keepvip has no BFD: without it the address moves later or not at all"
	noAnnounce   = "keepvip announces immediately after an advertisement of a rival, and once an interval until none has been heard for three"
)

func refused(text, remedy string) fate {
	return fate{keepalived.Fault, keepalived.CodeUnsupported, text, remedy}
}

func warned(text, remedy string) fate {
	return fate{keepalived.Warning, keepalived.CodeUnsupported, text, remedy}
}

func noted(text string) fate {
	return fate{keepalived.Note, keepalived.CodeIgnored, text, ""}
}

// fates are the keywords that leave no trace in the text. What the model already says of a keyword in its own note stands, unless it is here.
var fates = map[fate]string{
	refused(noVMAC, noVMACRemedy): "use_vmac_addr",
	refused("keepvip has no ipvlan interfaces of its own", "remove it on all nodes, and reload keepalived; then convert"): "use_ipvlan",
	refused("keepvip does not look into VRFs", "keep keepalived for addresses in a VRF"):                                  "vrf",
	refused(noRoutes, routesRemedy): "virtual_routes virtual_rules",
	refused(noBFD, "track the interface, or a script that asks the neighbour, in its place"): "track_bfd",
	refused(noHost, hostRemedy): "static_ipaddress static_routes static_rules",
	refused("keepvip binds addresses in the namespace in which it runs", "remove it, and start keepvip inside (NetworkNamespacePath of the unit)"): "net_namespace",

	warned("keepvip tells nobody of an advertisement of lower priority: it answers it", "watch keepvip_rivals_total"):                                      "notify_master_rx_lower_pri",
	warned("keepvip is no load balancer", "keep keepalived for the virtual servers, with only these blocks (keepalived --check), or put HAProxy in front"): "virtual_server_group",
	warned("keepvip looks at a link by netlink, and acts immediately", ""):                                                                                 "linkbeat_use_polling linkbeat_interfaces interface_up_down_delays",

	noted("keepvip shows the host's name"): "router_id",
	noted(noAnnounce):                      `garp_lower_prio_delay garp_lower_prio_repeat vrrp_garp_lower_prio_delay vrrp_garp_lower_prio_repeat`,
	noted("keepvip's announcements of a burst are at least 20 ms apart"):                       "vrrp_garp_interval vrrp_gna_interval",
	noted("keepvip answers a lower priority with an advertisement, as RFC 9568 has it"):        "lower_prio_no_advert vrrp_lower_prio_no_advert",
	noted("keepvip says nothing more when a higher priority is heard"):                         "higher_prio_send_advert vrrp_higher_prio_send_advert",
	noted("keepvip takes an advertisement that shares an address with its own list"):           "skip_check_adv_addr vrrp_skip_check_adv_addr",
	noted("keepvip hears its peers alone, always"):                                             "check_unicast_src vrrp_check_unicast_src",
	noted("keepvip waits until the interface has an address of its own"):                       "track_src_ip dynamic_interfaces",
	noted("an address of keepvip is bound anew when the host loses it"):                        "promote_secondaries",
	noted("the metrics keepvip_* and keepvip status show the priority"):                        "notify_priority_changes vrrp_notify_priority_changes",
	noted("keepvip sends no mail: let the monitoring of its metrics do that"):                  "smtp_alert smtp_alert_vrrp notification_email notification_email_from smtp_server smtp_helo_name smtp_connect_timeout no_email_faults",
	noted("realtime: true schedules keepvip before other programs"):                            "max_auto_priority",
	noted("keepvip has no setting for it"):                                                     "vrrp_no_swap",
	noted("keepvip tells of other VRIDs and foreign hosts by itself"):                          "log_unknown_vrids",
	noted("keepvip's lease ends the service of a node that stalls, with or without nopreempt"): "timer_expired_backup thread_timer_expired",
	noted("it is for static addresses, which keepvip has none of"):                             "default_interface",
	noted("the first address decides"):                                                         "native_ipv6",
}

// carried are the keywords that instance.go and its neighbours look at themselves.
const carried = ` state interface virtual_router_id priority advert_int version authentication auth_type auth_pass nopreempt preempt preempt_delay
	down_timer_adverts dont_track_primary accept no_accept strict_mode vrrp_strict virtual_ipaddress virtual_ipaddress_excluded unicast_peer
	unicast_src_ip mcast_src_ip mcast_dst_ip unicast_ttl unicast_fault_no_peer old_unicast_checksum garp_master_refresh garp_master_delay garp_master_repeat garp_master_refresh_repeat track_interface
	track_script track_process track_file group sync_group_tracking_weight script_user enable_script_security vrrp_version vrrp_garp_master_refresh vrrp_garp_master_delay
	vrrp_garp_master_repeat vrrp_garp_master_refresh_repeat vrrp_min_garp
	vrrp_mcast_group4 vrrp_mcast_group6 vrrp_down_timer_adverts vrrp_startup_delay vrrp_delay_after_boot vrrp_rt_priority global_defs vrrp_instance vrrp_sync_group
	notify notify_master notify_backup notify_fault notify_stop notify_deleted notify_fifo vrrp_notify_fifo notify_fifo_script vrrp_notify_fifo_script
	virtual_server vrrp_script vrrp_track_file vrrp_track_process auth_hmac v3_checksum_as_v2 use_vmac vmac_xmit_base vmac_prefix script interval timeout weight rise fall user init_fail `

// byKeyword is fates by the keyword.
func byKeyword() map[string]fate {
	out := map[string]fate{}
	for v, all := range fates {
		for word := range strings.FieldsSeq(all) {
			out[word] = v
		}
	}
	return out
}

// looked are the blocks whose lines are keywords.
var looked = []string{"global_defs", "vrrp_instance", "vrrp_sync_group"}

// eachKeyword visits the lines that are keywords.
func eachKeyword(nodes []*syntax.Node, visit func(*syntax.Node)) {
	for _, n := range nodes {
		visit(n)
		for _, l := range looked {
			if n.Block && n.Words[0] == l {
				eachKeyword(n.Children, visit)
			}
		}
	}
}

// keywords says what becomes of those that leave no trace.
func (c *converter) keywords(nodes []*syntax.Node) {
	table := byKeyword()
	eachKeyword(nodes, func(n *syntax.Node) {
		if v, ok := table[n.Words[0]]; ok {
			c.say(v.severity, v.code, n.At, n.Words[0]+": "+v.text, v.remedy)
		}
	})
}

// left says of each keyword that nobody has looked at that it is not carried over.
func (c *converter) left(nodes []*syntax.Node) {
	table, others := byKeyword(), strings.Fields(carried)
	eachKeyword(nodes, func(n *syntax.Node) {
		word := n.Words[0]
		if _, ok := table[word]; ok || slices.Contains(others, word) || c.found(n.At) {
			return
		}
		c.say(keepalived.Warning, codeLeft, n.At, plain(word)+" is not carried over", "find out whether it matters here")
	})
}
