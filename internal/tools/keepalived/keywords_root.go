package keepalived

import (
	"strings"
)

// What keepvip says of keywords that it has nothing for.
const (
	noteLVS     = "load balancing by IPVS is not keepvip's: keep keepalived for it with only these blocks (--check), or put HAProxy in front"
	noteBFD     = "keepvip has no BFD: advertisements of 100 ms see a dead node as soon"
	noteRoutes  = "keepvip moves addresses, and neither routes nor rules: keep them in the host's network configuration, or in a notify script"
	noteStatic  = "keepvip configures no host: keep this in the host's network configuration"
	noteProcess = "it names or places keepalived's own processes and files"
	noteSNMP    = "keepvip has metrics and a status instead"
	noteMail    = "keepvip sends no mail: let the monitoring of its metrics do that"
	noteFire    = "keepvip has a firewall of its own, the fence"
	noteBuffers = "keepvip sizes its sockets itself"
	noteVMAC    = "keepvip has a virtual MAC address on the interface of the instance, and no other interfaces of its own"
	noteRefresh = "keepvip announces again by garp_master_refresh, with the MAC that the address has"
	noteReload  = "keepvip reads all of a configuration before it changes anything, always"
)

func ignored(note string) keyword[reader] { return keyword[reader]{note: note, code: CodeIgnored} }

func rootKeywords() map[string]keyword[reader] {
	table := map[string]keyword[reader]{
		"global_defs":         {block: true, read: (*reader).readGlobal},
		"vrrp_script":         {block: true, read: (*reader).readScript},
		"track_file":          {block: true, read: (*reader).readFile},
		"vrrp_track_file":     {block: true, read: (*reader).readFile},
		"vrrp_track_process":  {block: true, read: (*reader).readProcess},
		"vrrp_instance":       {block: true, read: (*reader).readInstance},
		"vrrp_sync_group":     {block: true, read: (*reader).readGroup},
		"static_ipaddress":    {block: true, list: true, note: noteStatic, read: func(r *reader, n statement) { r.config.Addresses = append(r.config.Addresses, readAddresses(n)...) }},
		"static_routes":       {block: true, list: true, note: noteStatic, read: func(r *reader, n statement) { r.config.Routes = append(r.config.Routes, lines(n)...) }},
		"static_rules":        {block: true, list: true, note: noteStatic, read: func(r *reader, n statement) { r.config.Rules = append(r.config.Rules, lines(n)...) }},
		"track_group":         {block: true, note: "keepvip does not watch static addresses, routes and rules", code: CodeUnsupported},
		"garp_group":          {block: true, note: "keepvip paces its announcements itself"},
		"linkbeat_interfaces": {block: true, note: "keepvip sees the state of links by netlink, and does not poll", code: CodeUnsupported},
		"interface_up_down_delays": {
			block: true, note: "keepvip acts on a link that is down immediately", code: CodeUnsupported,
		},
		"net_namespace":      {words: 2, note: "start keepvip inside the namespace instead (ip netns exec, or the unit's NetworkNamespacePath)", code: CodeUnsupported},
		"net_namespace_ipvs": {note: noteLVS, code: codeNotVRRP},
		"virtual_server":     {block: true, note: noteLVS, code: codeNotVRRP},
		"virtual_server_group": {
			block: true, note: noteLVS, code: codeNotVRRP,
		},
		"SSL":          {block: true, note: noteLVS, code: codeNotVRRP},
		"bfd_instance": {block: true, note: noteBFD, code: CodeUnsupported},
	}
	for word := range strings.FieldsSeq("instance use_pid_dir child_wait_time namespace_with_ipsets linkbeat_use_polling process_names") {
		table[word] = ignored(noteProcess)
	}
	return table
}

// TopLevel says whether a keyword means something outside of all blocks.
func TopLevel(word string) bool {
	_, ok := rootKeywords()[word]
	return ok
}

// newer are the keywords that 2.2.7 does not know, and the version that does.
var newer = map[string]string{
	"auth_hmac": "2.4.0", "vrrp_delay_after_boot": "2.4.0", "owner_ignore_adverts": "2.3.3", "vrrp_owner_ignore_adverts": "2.3.3",
	"state_dump_file": "2.3.3", "stats_dump_file": "2.3.3", "json_dump_file": "2.3.3", "iproute_usr_dir": "2.3.2", "iproute_etc_dir": "2.3.2",
	"use_symlink_paths": "2.3.0", "no_virtual_ipaddress": "2.2.8", "v3_checksum_as_v2": "2.2.8", "timer_expired_backup": "2.2.8",
	"thread_timer_expired": "2.2.8", "json_version": "2.2.8",
}
