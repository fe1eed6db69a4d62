package keepalived

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
)

// globalDraft is global_defs before what is left out is filled in.
type globalDraft struct {
	Global
	garp       garpDraft
	minGarp    bool
	alert      *bool
	alertVRRP  *bool
	fifoScript [2]*Command
}

func newGlobalDraft() globalDraft {
	return globalDraft{Global: Global{
		Block: Block{Name: "global_defs", Set: map[string]syntax.Origin{}}, Version: 2, DownTimerAdverts: 3, DefaultInterface: "eth0",
		Group4: netip.AddrFrom4([4]byte{224, 0, 0, 18}), Group6: netip.MustParseAddr("ff02::12"),
	}}
}

func (r *reader) readGlobal(n *syntax.Node) {
	if r.global.At.File == "" {
		r.global.At = n.At
	}
	r.extra(n, 1)
	readBlock(r, "global_defs", globalKeywords(), &r.global, &r.global.Block, n.Children)
}

type globalKeyword = keyword[globalDraft]

func globalKeywords() map[string]globalKeyword {
	table := map[string]globalKeyword{
		"router_id":              {words: 2, read: func(r *reader, g *globalDraft, n *syntax.Node) { g.RouterID = n.Words[1]; r.extra(n, 2) }},
		"script_user":            {words: 2, read: func(_ *reader, g *globalDraft, n *syntax.Node) { g.ScriptUser = user(n.Words, 1) }},
		"enable_script_security": {read: func(r *reader, g *globalDraft, n *syntax.Node) { g.ScriptSecurity = r.alone(n) }},
		"vrrp_version": {words: 2, read: func(r *reader, g *globalDraft, n *syntax.Node) {
			if v, ok := r.number(n, 2, 3, "takes version 2"); ok {
				g.Version = v
			}
		}},
		"vrrp_garp_interval": {words: 2, read: func(r *reader, g *globalDraft, n *syntax.Node) { r.interval(n, &g.GarpInterval) }},
		"vrrp_gna_interval":  {words: 2, read: func(r *reader, g *globalDraft, n *syntax.Node) { r.interval(n, &g.GNAInterval) }},
		"vrrp_min_garp": {read: func(r *reader, g *globalDraft, n *syntax.Node) {
			if v, ok := r.flag(n); ok && v {
				g.minGarp = true // a no behind it takes nothing back
			}
		}},
		"vrrp_mcast_group4": {words: 2, read: func(r *reader, g *globalDraft, n *syntax.Node) { r.group(n, &g.Group4, false) }},
		"vrrp_mcast_group6": {words: 2, read: func(r *reader, g *globalDraft, n *syntax.Node) { r.group(n, &g.Group6, true) }},
		"vrrp_down_timer_adverts": {words: 2, read: func(r *reader, g *globalDraft, n *syntax.Node) {
			if v, ok := r.number(n, 1, 100, "takes 3"); ok {
				g.DownTimerAdverts = v
			}
		}},
		"vrrp_lower_prio_no_advert":    {read: func(r *reader, g *globalDraft, n *syntax.Node) { r.into(n, &g.LowerPrioNoAdvert) }},
		"vrrp_higher_prio_send_advert": {read: func(r *reader, g *globalDraft, n *syntax.Node) { r.into(n, &g.HigherPrioSendAdvert) }},
		"vrrp_skip_check_adv_addr":     {read: func(r *reader, g *globalDraft, n *syntax.Node) { g.SkipCheckAdvAddr = r.alone(n) }},
		"vrrp_check_unicast_src":       {read: func(r *reader, g *globalDraft, n *syntax.Node) { g.CheckUnicastSrc = r.alone(n) }},
		"vrrp_strict":                  {read: func(r *reader, g *globalDraft, n *syntax.Node) { g.Strict = r.alone(n) }},
		"max_auto_priority": {read: func(r *reader, g *globalDraft, n *syntax.Node) {
			g.MaxAutoPriority = 99
			if len(n.Words) > 1 {
				if v, ok := r.number(n, -1, 99, "takes none"); ok {
					g.MaxAutoPriority = v
				}
			}
		}},
		"vrrp_startup_delay": {words: 2, read: func(r *reader, g *globalDraft, n *syntax.Node) {
			if d, ok := r.duration(n, time.Microsecond, 4294*time.Second, "takes none"); ok {
				g.StartupDelay = d
			}
		}},
		"vmac_prefix":                  {words: 2, read: func(_ *reader, g *globalDraft, n *syntax.Node) { g.VMACPrefix = n.Words[1] }},
		"dynamic_interfaces":           {read: func(_ *reader, g *globalDraft, _ *syntax.Node) { g.DynamicInterfaces = true }},
		"default_interface":            {words: 2, read: func(_ *reader, g *globalDraft, n *syntax.Node) { g.DefaultInterface = n.Words[1] }},
		"notify_fifo":                  {words: 2, read: func(_ *reader, g *globalDraft, n *syntax.Node) { g.NotifyFIFO = fifo(n) }},
		"vrrp_notify_fifo":             {words: 2, read: func(_ *reader, g *globalDraft, n *syntax.Node) { g.VRRPFIFO = fifo(n) }},
		"notify_fifo_script":           {words: 2, read: func(r *reader, g *globalDraft, n *syntax.Node) { g.fifoScript[0], _ = r.command(n, true) }},
		"vrrp_notify_fifo_script":      {words: 2, read: func(r *reader, g *globalDraft, n *syntax.Node) { g.fifoScript[1], _ = r.command(n, true) }},
		"vrrp_notify_priority_changes": {read: func(r *reader, g *globalDraft, n *syntax.Node) { r.into(n, &g.PriorityChanges) }},
		"log_unknown_vrids":            {read: func(_ *reader, g *globalDraft, _ *syntax.Node) { g.LogUnknownVRIDs = true }},
		"vrrp_no_swap":                 {read: func(_ *reader, g *globalDraft, _ *syntax.Node) { g.NoSwap = true }},
		"vrrp_rt_priority": {words: 2, read: func(r *reader, g *globalDraft, n *syntax.Node) {
			if v, ok := r.number(n, 1, 99, "takes none"); ok {
				g.RTPriority = v
			}
		}},
	}
	garpKeywords(table, "vrrp_garp_", func(g *globalDraft) *garpDraft { return &g.garp })
	mailKeywords(table)
	for note, words := range globalNotes {
		for word := range strings.FieldsSeq(words) {
			table[word] = globalKeyword{note: note.text, code: note.code}
		}
	}
	return table
}

type note struct{ text, code string }

// globalNotes are the keywords of global_defs that are known and not looked into.
var globalNotes = map[note]string{
	{noteProcess, CodeIgnored}: `process_names process_name vrrp_process_name checker_process_name bfd_process_name umask random_seed tmp_config_directory
		config_save_dir data_use_instance min_auto_priority_delay vrrp_priority vrrp_rlimit_rttime vrrp_cpu_affinity`,
	{noteReload, CodeIgnored}: "reload_check_config include_check reload_file",
	{"keepvip is told to reload, and does not look for a time", CodeUnsupported}: "reload_time_file reload_repeat",
	{noteSNMP, CodeUnsupported}: `snmp_socket enable_traps enable_snmp_vrrp enable_snmp_checker enable_snmp_keepalived enable_snmp_rfc enable_snmp_rfcv2
		enable_snmp_rfcv3 enable_dbus dbus_service_name dbus_no_interface_name`,
	{noteFire, CodeIgnored}: "vrrp_iptables vrrp_ipsets nftables nftables_priority nftables_counters nftables_ifindex disable_local_igmp",
	{noteBuffers, CodeIgnored}: `vrrp_netlink_cmd_rcv_bufs vrrp_netlink_cmd_rcv_bufs_force vrrp_netlink_monitor_rcv_bufs vrrp_netlink_monitor_rcv_bufs_force
		process_monitor_rcv_bufs process_monitor_rcv_bufs_force vrrp_rx_bufs_policy vrrp_rx_bufs_multiplier`,
	{noteVMAC, CodeUnsupported}:                                          "vmac_addr_prefix",
	{noteRefresh, CodeUnsupported}:                                       "vrrp_garp_extra_if vrrp_vmac_garp_intvl",
	{"write a unit that runs before keepvip, or after", CodeUnsupported}: "startup_script startup_script_timeout shutdown_script shutdown_script_timeout",
	{"a FIFO gets the states when they change", CodeIgnored}:             "fifo_write_vrrp_states_on_reload",
	{noteLVS, codeNotVRRP}: `lvs_sync_daemon lvs_timeouts lvs_flush lvs_flush_onstop lvs_flush_on_stop lvs_notify_fifo lvs_notify_fifo_script lvs_netlink_cmd_rcv_bufs
		lvs_netlink_cmd_rcv_bufs_force lvs_netlink_monitor_rcv_bufs lvs_netlink_monitor_rcv_bufs_force rs_init_notifies no_checker_emails smtp_alert_checker
		checker_log_all_failures checker_priority checker_no_swap checker_rt_priority checker_rlimit_rttime checker_cpu_affinity nftables_ipvs
		nftables_ipvs_priority nftables_ipvs_start_fwmark`,
	{noteBFD, CodeUnsupported}: "bfd_priority bfd_no_swap bfd_rt_priority bfd_rlimit_rttime bfd_cpu_affinity",
}

func mailKeywords(table map[string]globalKeyword) {
	table["notification_email"] = globalKeyword{block: true, list: true, note: noteMail, read: func(r *reader, g *globalDraft, n *syntax.Node) {
		if len(n.Children) == 0 {
			r.fault(CodeMissing, n.At, "notification_email is empty", "remove it")
		}
		for _, c := range n.Children {
			if !c.Block {
				g.Mail.To = append(g.Mail.To, c.Words...)
			}
		}
	}}
	table["notification_email_from"] = globalKeyword{words: 2, read: func(_ *reader, g *globalDraft, n *syntax.Node) { g.Mail.From = n.Words[1] }}
	table["smtp_server"] = globalKeyword{words: 2, read: func(_ *reader, g *globalDraft, n *syntax.Node) { g.Mail.Server = strings.Join(n.Words[1:], " ") }}
	table["smtp_helo_name"] = globalKeyword{words: 2}
	table["smtp_connect_timeout"] = globalKeyword{words: 2}
	table["no_email_faults"] = globalKeyword{}
	table["smtp_alert"] = globalKeyword{read: func(r *reader, g *globalDraft, n *syntax.Node) { r.optional(n, &g.alert) }}
	table["smtp_alert_vrrp"] = globalKeyword{read: func(r *reader, g *globalDraft, n *syntax.Node) { r.optional(n, &g.alertVRRP) }}
}

func fifo(n *syntax.Node) FIFO { return FIFO{Path: n.Words[1], Owner: user(n.Words, 2)} }

// into sets a flag, unless its word is neither yes nor no.
func (r *reader) into(n *syntax.Node, to *bool) {
	if v, ok := r.flag(n); ok {
		*to = v
	}
}

// optional is into for a flag whose default is elsewhere.
func (r *reader) optional(n *syntax.Node, to **bool) {
	if v, ok := r.flag(n); ok {
		*to = &v
	}
}

// interval reads the least time between two announcements.
func (r *reader) interval(n *syntax.Node, to *time.Duration) {
	if d, ok := r.duration(n, time.Microsecond, 4294967295*time.Microsecond, "ignores the line"); ok {
		*to = d
		if d >= time.Second {
			r.fault(CodeValue, n.At, fmt.Sprintf("%s of %v: keepalived warns of so long a pause between announcements", n.Words[0], d), "write a fraction of a second")
		}
	}
}

// group reads a multicast address.
func (r *reader) group(n *syntax.Node, to *netip.Addr, six bool) {
	a, ok := r.host(n, n.Words[1])
	if !ok || !a.IsMulticast() || a.Is6() != six {
		r.fault(CodeValue, n.At, fmt.Sprintf("%s %q is no multicast address of that family: keepalived ignores the line", n.Words[0], n.Words[1]), "")
		return
	}
	*to = a
}
