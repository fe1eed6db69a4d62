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

func (r *reader) readGlobal(n statement) {
	if r.global.At.File == "" {
		r.global.At = n.At
	}
	n.extra(1)
	readBlock("global_defs", globalKeywords(), &r.global, &r.global.Block, n)
}

type globalKeyword = keyword[globalDraft]

func globalKeywords() map[string]globalKeyword {
	table := map[string]globalKeyword{
		"router_id":              {words: 2, read: func(g *globalDraft, n statement) { g.RouterID = n.Words[1]; n.extra(2) }},
		"script_user":            {words: 2, read: func(g *globalDraft, n statement) { g.ScriptUser = user(n.Words, 1) }},
		"enable_script_security": {read: func(g *globalDraft, n statement) { g.ScriptSecurity = n.alone() }},
		"vrrp_version":           withNumber(2, 3, "takes version 2", func(g *globalDraft, v int) { g.Version = v }),
		"vrrp_garp_interval":     {words: 2, read: func(g *globalDraft, n statement) { readPause(n, &g.GarpInterval) }},
		"vrrp_gna_interval":      {words: 2, read: func(g *globalDraft, n statement) { readPause(n, &g.GNAInterval) }},
		"vrrp_min_garp": {read: func(g *globalDraft, n statement) {
			if v, ok := n.flag(); ok && v {
				g.minGarp = true // a no behind it takes nothing back
			}
		}},
		"vrrp_mcast_group4":            {words: 2, read: func(g *globalDraft, n statement) { readMulticastGroup(n, &g.Group4, false) }},
		"vrrp_mcast_group6":            {words: 2, read: func(g *globalDraft, n statement) { readMulticastGroup(n, &g.Group6, true) }},
		"vrrp_down_timer_adverts":      withNumber(1, 100, "takes 3", func(g *globalDraft, v int) { g.DownTimerAdverts = v }),
		"vrrp_lower_prio_no_advert":    {read: func(g *globalDraft, n statement) { n.into(&g.LowerPrioNoAdvert) }},
		"vrrp_higher_prio_send_advert": {read: func(g *globalDraft, n statement) { n.into(&g.HigherPrioSendAdvert) }},
		"vrrp_skip_check_adv_addr":     {read: func(g *globalDraft, n statement) { g.SkipCheckAdvAddr = n.alone() }},
		"vrrp_check_unicast_src":       {read: func(g *globalDraft, n statement) { g.CheckUnicastSrc = n.alone() }},
		"vrrp_strict":                  {read: func(g *globalDraft, n statement) { g.Strict = n.alone() }},
		"max_auto_priority": {read: func(g *globalDraft, n statement) {
			g.MaxAutoPriority = 99
			if len(n.Words) > 1 {
				if v, ok := n.number(-1, 99, "takes none"); ok {
					g.MaxAutoPriority = v
				}
			}
		}},
		"vrrp_startup_delay":           withTime(time.Microsecond, 4294*time.Second, "takes none", func(g *globalDraft, d time.Duration) { g.StartupDelay = d }),
		"vmac_prefix":                  {words: 2, read: func(g *globalDraft, n statement) { g.VMACPrefix = n.Words[1] }},
		"dynamic_interfaces":           {read: func(g *globalDraft, _ statement) { g.DynamicInterfaces = true }},
		"default_interface":            {words: 2, read: func(g *globalDraft, n statement) { g.DefaultInterface = n.Words[1] }},
		"notify_fifo":                  {words: 2, read: func(g *globalDraft, n statement) { g.NotifyFIFO = fifo(n) }},
		"vrrp_notify_fifo":             {words: 2, read: func(g *globalDraft, n statement) { g.VRRPFIFO = fifo(n) }},
		"notify_fifo_script":           {words: 2, read: func(g *globalDraft, n statement) { g.fifoScript[0], _ = n.command(true) }},
		"vrrp_notify_fifo_script":      {words: 2, read: func(g *globalDraft, n statement) { g.fifoScript[1], _ = n.command(true) }},
		"vrrp_notify_priority_changes": {read: func(g *globalDraft, n statement) { n.into(&g.PriorityChanges) }},
		"log_unknown_vrids":            {read: func(g *globalDraft, _ statement) { g.LogUnknownVRIDs = true }},
		"vrrp_no_swap":                 {read: func(g *globalDraft, _ statement) { g.NoSwap = true }},
		"vrrp_rt_priority":             withNumber(1, 99, "takes none", func(g *globalDraft, v int) { g.RTPriority = v }),
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
	table["notification_email"] = globalKeyword{block: true, list: true, note: noteMail, read: func(g *globalDraft, n statement) {
		if len(n.Children) == 0 {
			n.fault(CodeMissing, n.At, "notification_email is empty", "remove it")
		}
		for _, c := range n.Children {
			if !c.Block {
				g.Mail.To = append(g.Mail.To, c.Words...)
			}
		}
	}}
	table["notification_email_from"] = globalKeyword{words: 2, read: func(g *globalDraft, n statement) { g.Mail.From = n.Words[1] }}
	table["smtp_server"] = globalKeyword{words: 2, read: func(g *globalDraft, n statement) { g.Mail.Server = strings.Join(n.Words[1:], " ") }}
	table["smtp_helo_name"] = globalKeyword{words: 2}
	table["smtp_connect_timeout"] = globalKeyword{words: 2}
	table["no_email_faults"] = globalKeyword{}
	table["smtp_alert"] = globalKeyword{read: func(g *globalDraft, n statement) { n.optional(&g.alert) }}
	table["smtp_alert_vrrp"] = globalKeyword{read: func(g *globalDraft, n statement) { n.optional(&g.alertVRRP) }}
}

func fifo(n statement) FIFO { return FIFO{Path: n.Words[1], Owner: user(n.Words, 2)} }

// into sets a flag, unless its word is neither yes nor no.
func (n statement) into(to *bool) {
	if v, ok := n.flag(); ok {
		*to = v
	}
}

// optional is into for a flag whose default is elsewhere.
func (n statement) optional(to **bool) {
	if v, ok := n.flag(); ok {
		*to = &v
	}
}

// readPause reads the least time between two announcements.
func readPause(n statement, to *time.Duration) {
	if d, ok := n.duration(time.Microsecond, 4294967295*time.Microsecond, "ignores the line"); ok {
		*to = d
		if d >= time.Second {
			n.fault(CodeValue, n.At, fmt.Sprintf("%s of %v: keepalived warns of so long a pause between announcements", n.Words[0], d), "write a fraction of a second")
		}
	}
}

// readMulticastGroup reads a multicast address.
func readMulticastGroup(n statement, to *netip.Addr, six bool) {
	a, ok := n.host(n.Words[1])
	if !ok || !a.IsMulticast() || a.Is6() != six {
		n.fault(CodeValue, n.At, fmt.Sprintf("%s %q is no multicast address of that family: keepalived ignores the line", n.Words[0], n.Words[1]), "")
		return
	}
	*to = a
}
