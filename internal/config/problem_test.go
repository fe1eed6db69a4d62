package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const head = "apiVersion: keepvip/v1\nkind: Config\n"

// keysOf are the keys of a section of the file, as an error lists them.
func keysOf(path ...string) string {
	at := sections()
	for _, name := range path {
		at = at.lookup(name)
	}
	return strings.Join(at.names(), ", ")
}

// inFile gives the text of a file from its third line on; the header stands before it.
func inFile(text string) Input {
	return Input{Env: []string{EnvInline + "=" + head + text}}
}

// Every line that a broken configuration prints, to the letter. FILE stands for KEEPVIP_CONFIG_YAML.
func TestLoadRefuses(t *testing.T) {
	flags := func(pairs ...string) Input {
		in := Input{Flags: map[string][]string{"vip": {"10.77.0.100"}}}
		for i := 0; i < len(pairs); i += 2 {
			in.Flags[pairs[i]] = []string{pairs[i+1]}
		}
		return in
	}
	raw := func(text string) Input { return Input{Env: []string{EnvInline + "=" + text}} }
	vip := func(lines string) Input { return inFile("vips:\n- addresses: [10.77.0.100]\n  " + lines + "\n") }
	two := func(a, b string) Input {
		return inFile("vips:\n- {name: a, addresses: [10.77.0.1], " + a + "}\n- {name: b, addresses: [10.77.0.2], " + b + "}\n")
	}
	tests := []struct {
		name string
		give Input
		want string // lines without "config: "
	}{
		// The file as a whole.
		{"nothing at all", Input{}, "vips: no virtual address, want --vip ADDRESS or a file with vips"},
		{"only a header", inFile(""), "FILE: vips: no virtual address, want --vip ADDRESS or a file with vips"},
		{"only a comment", raw("# nothing\n"), "FILE: empty, want apiVersion: keepvip/v1, kind: Config and vips"},
		{"a list", raw("- a\n"), "FILE:1: a list, want a mapping with apiVersion, kind and vips"},
		{"a scalar", raw("keepvip"), `FILE:1: "keepvip", want a mapping with apiVersion, kind and vips`},
		{"no header", raw("vips:\n- addresses: [10.77.0.100]\n"), "FILE:1: apiVersion: missing, want keepvip/v1\nFILE:1: kind: missing, want Config"},
		{"another version", raw("apiVersion: keepvip/v2\nkind: [Config]\nvips: [{addresses: [10.77.0.1]}]"), "FILE:1: apiVersion: \"keepvip/v2\", want keepvip/v1\nFILE:2: kind: a list, want Config"},
		{"two documents", inFile("---\nvips: []\n"), "FILE:3: more than one YAML document, want one"},
		{"broken in the first line", raw("a: b: c"), "FILE:1: not valid YAML: mapping values are not allowed in this context"},
		{"indented wrongly", inFile("vips:\n- name: a\n   priority: 5\n"), "FILE:5: not valid YAML: mapping values are not allowed in this context"},
		{"indented too little", inFile("vips:\n- name: a\n priority: 5\n"), "FILE:5: not valid YAML: did not find expected key"},
		{"tab", inFile("vips:\n\t- name: a\n"), "FILE:4: not valid YAML: found character that cannot start any token"},
		{"control character", inFile("vips: []\nsocket: /a\x01\n"), "FILE:4: a control character or bytes that are no UTF-8, want text"},
		{"not UTF-8", inFile("socket: /\xff\n"), "FILE:3: a control character or bytes that are no UTF-8, want text"},
		{"too many entries", inFile("vips:\n" + strings.Repeat("- {addresses: [10.77.0.100]}\n", maxVIPs+1)), "FILE: vips: 1001 entries, want at most 1000: an entry can have several addresses"},
		{"metrics at a group", inFile("metrics: 224.0.0.1:9645\n"), "FILE:3: metrics.address: 224.0.0.1:9645 is multicast, at which nothing can listen; want an address such as 127.0.0.1:9645"},
		{"too large", raw("# " + strings.Repeat("x", maxFile)), "FILE: more than 1048576 bytes, want at most that"},
		// Keys.
		{"unknown key", inFile("vip: []\n"), "FILE:3: vip: unknown key, did you mean vips?"},
		{"unknown key in a VIP", vip("prio: 5"), "FILE:5: vips[0].prio: unknown key, want one of " + keysOf("vips")},
		{"unknown key, near", vip("vrrp: {advertismentInterval: 1s}"), "FILE:5: vips[0].vrrp.advertismentInterval: unknown key, did you mean advertisementInterval?"},
		{"key in the wrong case", vip("Priority: 5"), "FILE:5: vips[0].Priority: unknown key, did you mean priority?"},
		{"key with dots", vip("vrrp.id: 5"), `FILE:5: vips[0]."vrrp.id": unknown key, want one of ` + keysOf("vips")},
		{"key of another section", vip("vrrp: {priority: 5}"), "FILE:5: vips[0].vrrp.priority: unknown key, want it as vips[].priority"},
		{"key of an entry at the top", inFile("vrrp: {id: 5}\n"), "FILE:3: vrrp: unknown key, want it as vips[].vrrp"},
		{"key by its flag's name", vip("vrrp: {vrid: 5}"), "FILE:5: vips[0].vrrp.vrid: unknown key, want it as vips[].vrrp.id"},
		{"key of two sections", vip("peers: [10.77.0.11]"), "FILE:5: vips[0].peers: unknown key, want it as vips[].vrrp.peers or raft.peers"},
		{"key of many sections", vip("vrrp: {interval: 1s}"), "FILE:5: vips[0].vrrp.interval: unknown key, want one of " + keysOf("vips", "vrrp")},
		{"empty key", vip("'': 5"), `FILE:5: vips[0]."": unknown key, want one of ` + keysOf("vips")},
		{"duplicate key", vip("priority: 1\n  priority: 2"), "FILE:6: vips[0].priority: is given twice (first in line 5), want it once"},
		{"duplicate section", vip("vrrp: {id: 1}\n  vrrp: {id: 1}"), "FILE:6: vips[0].vrrp: is given twice (first in line 5), want it once"},
		{"duplicate at the top", inFile("port: 1\nvips: [{addresses: [10.77.0.1]}]\nport: 1\n"), "FILE:5: port: is given twice (first in line 3), want it once"},
		{"list as a key", inFile("? [a]\n: b\nvips: [{addresses: [10.77.0.1]}]\n"), "FILE:3: a list as a key, want a name"},
		{"merge key", vip("<<: {priority: 5}"), "FILE:5: vips[0].<<: unknown key, want one of " + keysOf("vips")},
		{"anchor", vip("vrrp: &x {id: 5}"), "FILE:5: vips[0].vrrp: a YAML anchor or alias, want the value written out"},
		{"alias", vip("vrrp: *x"), "FILE: not valid YAML: unknown anchor 'x' referenced"},
		// Types.
		{"no value", vip("interface:"), "FILE:5: vips[0].interface: no value, want one or the key removed"},
		{"no list", inFile("vips: {addresses: [10.77.0.1]}\n"), "FILE:3: vips: a mapping, want a list: one entry with addresses for each virtual address"},
		{"entry is no mapping", inFile("vips: [10.77.0.1]\n"), `FILE:3: vips[0]: "10.77.0.1", want a mapping with ` + keysOf("vips")},
		{"scalar for a list", inFile("vips:\n- addresses: 10.77.0.100\n"), `FILE:4: vips[0].addresses: "10.77.0.100", want a list such as [10.77.0.100]`},
		{"scalar for a mapping", vip("vrrp: 51"), "FILE:5: vips[0].vrrp: 51, want a mapping with " + keysOf("vips", "vrrp")},
		{"string for a number", vip(`priority: "5"`), `FILE:5: vips[0].priority: "5", want a number`},
		{"number for a string", vip("name: 5"), "FILE:5: vips[0].name: 5, want a string (in quotes if need be): name"},
		{"float for a number", vip("priority: 1.5"), "FILE:5: vips[0].priority: 1.5, want a number"},
		{"octal", vip("priority: 0o17"), "FILE:5: vips[0].priority: 0o17, want a number from 1 to 254"},
		{"word for a bool", vip("vrrp: {preempt: yes}"), `FILE:5: vips[0].vrrp.preempt: "yes", want true or false`},
		{"mapping for a list's entry", inFile("vips:\n- addresses: [{a: b}]\n"), "FILE:4: vips[0].addresses: a mapping, want a string (in quotes if need be): address"},
		{"check of a wrong kind", vip("check: [none]"), "FILE:5: vips[0].check: a list, want a mapping with " + keysOf("vips", "check")},
		{"check that is no URL", vip("check: off"), "FILE:5: vips[0].check.url: off, want a URL, kubeadm, k3s, rke2, k0s or none"},
		// Values.
		{"VRID 0", flags("vrid", "0"), "--vrid: 0, want a number from 1 to 255"},
		{"VRID 256", vip("vrrp: {id: 256}"), "FILE:5: vips[0].vrrp.id: 256, want a number from 1 to 255"},
		{"VRID no number", flags("vrid", "x"), "--vrid: x, want a number from 1 to 255"},
		{"interval 0", flags("advertisement-interval", "0"), "--advertisement-interval: 0, want a duration from 10ms to 40.95s"},
		{"interval 0 in a file", vip("vrrp: {advertisementInterval: 0}"), "FILE:5: vips[0].vrrp.advertisementInterval: 0, want a duration from 10ms to 40.95s"},
		{"interval without unit", vip("vrrp: {advertisementInterval: 100}"), "FILE:5: vips[0].vrrp.advertisementInterval: 100, want a duration with its unit, such as 100ms or 2s"},
		{"interval not in centiseconds", flags("advertisement-interval", "105ms"), "--advertisement-interval: 105ms, want a multiple of 10ms"},
		{"interval too long", flags("advertisement-interval", "41s"), "--advertisement-interval: 41s, want a duration from 10ms to 40.95s"},
		{"priority 0", flags("priority", "0"), "--priority: 0, want a number from 1 to 254"},
		{"priority of an owner", flags("priority", "255"), "--priority: 255, want a number from 1 to 254"},
		{"version", flags("vrrp-version", "4"), "--vrrp-version: 4, want a number from 2 to 3"},
		{"version 2 in milliseconds", flags("vrrp-version", "2"), "vips[0].vrrp.advertisementInterval: 100ms, want whole seconds with vrrp.version 2"},
		{"version 2 with IPv6", flags("vip", "fd77::1", "vrrp-version", "2", "advertisement-interval", "1s"), "--vrrp-version: 2 with an IPv6 address first, want 3"},
		{"raft without peers", flags("election", "raft"), "--election: raft without raft.peers, want the nodes' own addresses there"},
		{"raft without a key", flags("election", "raft", "raft-peer", "10.77.0.11"), "--election: raft without a shared key: set key.file (keepvip key generate makes one), or raft.certificate, raft.privateKey and raft.ca"},
		{"a virtual raft peer", flags("raft-peer", "10.77.0.100"), "--raft-peer: 10.77.0.100 is a virtual address, want a node's own"},
		{"a witness that is no peer", flags("raft-peer", "10.77.0.11", "raft-witness", "10.77.0.12"), "--raft-witness: 10.77.0.12 is not among raft.peers, want it there, too"},
		{"only witnesses", flags("raft-peer", "10.77.0.11", "raft-witness", "10.77.0.11"), "--raft-witness: all of raft.peers, want at least one that can hold the addresses"},
		{"a certificate alone", flags("raft-certificate", "/c"), "--raft-certificate: 1 of 3 files set, want all three of raft.certificate, raft.privateKey and raft.ca, or none"},
		{"election", flags("election", "paxos"), "--election: paxos, want " + joined(Elections(), " or ")},
		{"priority of an address owner", flags("owner", "true", "priority", "100"), "--priority: 100 with vrrp.owner, whose priority is 255, want one of the two"},
		{"delay without preemption", flags("preempt", "false", "preempt-delay", "1s"), "--preempt-delay: 1s without preemption, want vrrp.preempt true or no delay"},
		{"an address elsewhere that is none", flags("interface", "eth0", "elsewhere", "10.77.0.9=eth1"), "--elsewhere: 10.77.0.9 is not among the addresses, want one of them"},
		{"an address elsewhere twice", flags("interface", "eth0", "elsewhere", "10.77.0.100=eth1,10.77.0.100=eth2"), "--elsewhere: 10.77.0.100 twice, want one interface for each address"},
		{"an address elsewhere without an interface", flags("elsewhere", "10.77.0.100=eth1"), "vips[0].interface: missing, want the interface of the election where addresses are elsewhere"},
		{"an address elsewhere, and nowhere", flags("interface", "eth0", "elsewhere", "10.77.0.100"), "--elsewhere: 10.77.0.100, want ADDRESS=INTERFACE such as 10.77.0.100=eth1"},
		{"a source of the other family", flags("source", "fd00::1"), "--source: fd00::1, want the family of the first address 10.77.0.100"},
		{"a least TTL of multicast", flags("min-ttl", "64"), "--min-ttl: 64 without vrrp.peers, want 255: what is multicast never leaves the link"},
		{"a group of the other family", flags("multicast-group", "ff02::18"), "--multicast-group: ff02::18, want the family of the first address 10.77.0.100"},
		{"a group beside peers", flags("multicast-group", "224.0.0.19", "peer", "10.77.0.11"), "--multicast-group: 224.0.0.19 beside vrrp.peers, want one of them"},
		{"a group that is none", flags("multicast-group", "10.77.0.9"), "--multicast-group: 10.77.0.9, want a multicast address such as 224.0.0.18"},
		{"a virtual source", flags("source", "10.77.0.100"), "--source: 10.77.0.100 is a virtual address, want a node's own"},
		{"an excluded address that is none", flags("excluded", "10.77.0.9"), "--excluded: 10.77.0.9 is not among the addresses, want one of them"},
		{"the first address excluded", flags("vip", "10.77.0.100,10.77.0.101", "excluded", "10.77.0.100"), "--excluded: 10.77.0.100 is the first address, which carries the election, want another"},
		{"hooks alone for a balancer's", flags("hooks-only", "true", "mode", "external", "external-address", "lb:1"), "--hooks-only: true with mode external, in which nobody is elected; want one of the two"},
		{"hooks alone where nobody is elected", flags("hooks-only", "true", "election", "local", "check", "https://127.0.0.1:6443/"), "--hooks-only: true with election local, in which nobody is elected; want election vrrp or raft"},
		{"hooks alone and a spread load", flags("hooks-only", "true", "spread", "direct", "check", "https://127.0.0.1:6443/"), "--spread: direct with hooksOnly, by which keepvip holds no address; want off"},
		{"hooks alone and a route", flags("hooks-only", "true", "announce", "route"), "--announce: route with hooksOnly, by which keepvip holds no address; want none"},
		{"a label too long", flags("label", "eth0:0123456789a"), "--label: eth0:0123456789a, want at most 15 printable characters without / and spaces, such as eth0:1"},
		{"a label for no address", flags("vip", "fd77::1", "label", "a"), "--label: 1 of them for 0 IPv4 addresses, want one for each"},
		{"group of one number", two("vrrp: {id: 1}, group: g", "vrrp: {id: 2}, group: g, checks: [{kind: file, path: /f, number: true, weight: 1}]"), "FILE:5: vips[1].group: g has vips[0] in it, and only one of them has a file with a number; want it in both, as the least fit decides for the group"},
		{"group of two minds", two("vrrp: {id: 1}, group: g", "vrrp: {id: 2}, priority: 5, group: g"), "FILE:5: vips[1].group: g has vips[0] in it, with another priority, vrrp.owner or vrrp.preempt; want the same, as they move together"},
		{"adverts to be missed", flags("down-timer-adverts", "0"), "--down-timer-adverts: 0, want a number from 1 to 100"},
		{"too short a silence", flags("down-timer-adverts", "2", "advertisement-interval", "10ms"), "--down-timer-adverts: 2 of 10ms, want at least 30ms in all"},
		{"start-up delay", flags("startup-delay", "1001s"), "--startup-delay: 1001s, want a duration from 0s to 16m40s"},
		{"password of version 3", flags("password-file", "/p"), "--password-file: set with vrrp.version 3, which has no password, want vrrp.version 2 or a key instead"},
		{"password and key", flags("password-file", "/p", "key-file", "/k", "vrrp-version", "2", "advertisement-interval", "1s"), "--password-file: set beside key.file, want one of them: a key makes the password useless"},
		{"password file", flags("password-file", "/none", "vrrp-version", "2", "advertisement-interval", "1s"), "--password-file: password file /none: no such file or directory"},
		{"mode without a key", flags("key-mode", "permissive"), "--key-mode: set without key.file, want both or neither"},
		{"key id twice", flags("key-file", "/k", "key-accept", "1=/l"), "--key-accept: key id 1 is given twice (key.id is 1), want each once"},
		{"key without id", flags("key-file", "/k", "key-accept", "/l"), "--key-accept: /l, want ID=PATH with an ID from 0 to 255, such as 2=/etc/keepvip/key.2"},
		{"key id too high", flags("key-file", "/k", "key-accept", "256=/l"), "--key-accept: 256=/l, want ID=PATH with an ID from 0 to 255, such as 2=/etc/keepvip/key.2"},
		{"keys that are missing", flags("key-file", "/none/k", "key-accept", "2=/none/l"), "--key-file: key file /none/k: no such file or directory\n--key-accept: key file /none/l: no such file or directory"},
		{"peer of the other family", flags("peer", "fd77::2"), "--peer: fd77::2, want the family of the first address 10.77.0.100"},
		{"peer is the VIP", flags("peer", "10.77.0.100"), "--peer: 10.77.0.100 is a virtual address, want a node's own"},
		{"name", flags("name", "API server"), `--name: "API server", want lower-case letters, digits and inner dashes, at most 63`},
		{"interface", flags("interface", "a name"), "--interface: \"a name\", want the name of an interface, or an altname"},
		{"interface of a dot", flags("interface", "."), "--interface: ., want the name of an interface, or an altname"},
		{"metrics", flags("metrics", "9645"), "--metrics: 9645, want host:port such as 127.0.0.1:9645, or off"},
		{"metrics at a name", flags("metrics", "node1:9645"), "--metrics: node1:9645, want an address in place of the name, such as 127.0.0.1:9645"},
		{"health without a port", flags("health", "9647"), "--health: 9647, want host:port such as 0.0.0.0:9647, or off"},
		{"a follower's listener without a port", flags("follow-listen", "9443"), "--follow-listen: 9443, want host:port such as 127.0.0.1:9443, or off"},
		{"members listen nowhere", flags("follow-on-members", "true", "spread", "direct"), "--follow-on-members: set without follow.listen, want both, such as follow.listen: 127.0.0.1:9443"},
		{"members listen for nothing", flags("follow-on-members", "true", "follow-listen", "127.0.0.1:9443"), "--follow-on-members: there is nothing to pass connections on to, want the first entry that is spread over its members to have a TCP port"},
		{"members listen where they serve", flags("follow-on-members", "true", "follow-listen", "127.0.0.1:6443", "spread", "direct"), "--follow-listen: 127.0.0.1:6443 has the port at which the members serve apiserver, want another one with follow.onMembers, such as 127.0.0.1:9443: the service could not listen there"},
		{"check at a port out of range", flags("check", "https://127.0.0.1:66443/readyz"), "--check: https://127.0.0.1:66443/readyz, want a port from 1 to 65535"},
		{"check at port 0", flags("check", "http://127.0.0.1:0"), "--check: http://127.0.0.1:0, want a port from 1 to 65535"},
		{"metrics at the VIP", flags("metrics", "10.77.0.100:9645"), "--metrics: 10.77.0.100 is a virtual address, which comes and goes, want one of the node's own, or 0.0.0.0 for all of these"},
		{"external without its address", flags("mode", "external"), "vips[0].externalAddress: missing with mode external, want the address or the name where clients connect, such as lb.example.org:6443"},
		{"external at no port", flags("mode", "external", "external-address", "lb:0"), "--external-address: lb:0, want a port from 1 to 65535"},
		{"external at a port with a zero", flags("external-address", "lb:06443"), "--external-address: lb:06443, want a port from 1 to 65535"},
		{"external at loopback", flags("external-address", "127.0.0.1:6443"), "--external-address: 127.0.0.1 is a loopback address, want one that other machines can reach"},
		{"external at what is no name", flags("external-address", "lb_1"), "--external-address: lb_1, want an address or a name, with or without a port, such as lb.example.org:6443"},
		{"external at a number", flags("external-address", "10.77.0"), "--external-address: 10.77.0, want an IPv4 or IPv6 address"},
		{"external without a port", flags("mode", "external", "external-address", "lb", "check", "none"), "--external-address: lb has no port, and no check names one; want a port here, such as lb:6443"},
		{"external that is checked", flags("external-address", "LB.example", "check", "https://lb.example:6443/readyz"), "--external-address: LB.example is what a check of this node probes, so the balancer would in the end probe itself; want a check of an address of this node, such as 127.0.0.1"},
		{"health at the VIP", flags("health", "10.77.0.100:9647"), "--health: 10.77.0.100 is a virtual address, which comes and goes, want one of the node's own, or 0.0.0.0 for all of these"},
		{"health at no port", flags("health", "0.0.0.0:0"), "--health: 0.0.0.0:0 has no port, want the one that balancers ask, such as 9647"},
		{"health at the port of Raft", flags("health", "0.0.0.0:9646", "election", "raft", "raft-peer", "10.77.0.11", "key-file", "/key"), "--health: 0.0.0.0:9646 has the port of the members, by which they elect; want another one, such as 9647"},
		{"health at the port of the metrics", flags("health", "0.0.0.0:9645"), "--health: 0.0.0.0:9645 has the port of metrics.address 127.0.0.1:9645, want another one, such as 9647"},
		{"page for nobody", flags("metrics-page", "true"), "--metrics-page: set while metrics.address is 127.0.0.1:9645, which no other host reaches, want an address of the node there, or 0.0.0.0:9645"},
		{"certificate for loopback", flags("metrics-certificate", "/c"), "--metrics-certificate: set while metrics.address is 127.0.0.1:9645, which no other host reaches, want an address of the node there, or 0.0.0.0:9645"},
		{"token without metrics", flags("metrics", "off", "metrics-token-file", "/c"), "--metrics-token-file: set while metrics.address is off, which no other host reaches, want an address of the node there, or 0.0.0.0:9645"},
		{"key without certificate", flags("metrics", "10.77.0.11:9645", "metrics-private-key", "/k"), "--metrics-private-key: set without metrics.certificate, want both or neither"},
		{"token in the clear", flags("metrics", "10.77.0.11:9645", "metrics-token-file", "/t"), "--metrics-token-file: set without metrics.certificate: everybody on the way could read the token, want a certificate beside it"},
		{"metrics files that are missing", flags("metrics", "[::]:9645", "metrics-certificate", "/none/c", "metrics-token-file", "/none/t"), "--metrics-certificate: /none/c: no such file\n--metrics-token-file: token file /none/t: no such file or directory"},
		{"metrics port", flags("metrics", "127.0.0.1:99999"), "--metrics: 127.0.0.1:99999, want host:port such as 127.0.0.1:9645, or off"},
		{"port", flags("port", "65536"), "--port: 65536, want a number from 0 to 65535"},
		{"socket too long", flags("socket", "/"+strings.Repeat("x", 107)), "--socket: a path of 108 bytes, want at most 107"},
		{"empty path", flags("state-dir", ""), `--state-dir: "", want a path`},
		{"log level", flags("log-level", "loud"), "--log-level: loud, want debug or info or warn or error"},
		{"long value", flags("name", strings.Repeat("x", 200)), "--name: " + strings.Repeat("x", 80) + "..., want lower-case letters, digits and inner dashes, at most 63"},
		{"value with line breaks", flags("name", "a\nb"), `--name: "a\nb", want lower-case letters, digits and inner dashes, at most 63`},
		// The check.
		{"state directory", flags("state-dir", "state"), "--state-dir: state, want an absolute path such as /var/lib/keepvip"},
		{"check scheme", flags("check", "udp://127.0.0.1:6443"), "--check: udp://127.0.0.1:6443, want an http or https URL such as https://127.0.0.1:6443/readyz, tcp://host:port, kubeadm, k3s, rke2, k0s or none; other kinds go under checks"},
		{"check without a host", flags("check", "https://:6443/readyz"), "--check: https://:6443/readyz, want an http or https URL such as https://127.0.0.1:6443/readyz"},
		{"check with brackets for a host", flags("check", "https://[]:6443/readyz"), "--check: https://[]:6443/readyz, want an http or https URL such as https://127.0.0.1:6443/readyz"},
		{"check by connecting without a host", flags("check", "tcp://:6443"), "--check: tcp://:6443, want tcp://host:port such as tcp://127.0.0.1:5432"},
		{"check password", flags("check", "https://u:p@127.0.0.1/"), "--check: a URL with a user name or password, want one without: it shows in status and logs"},
		{"check fragment", flags("check", "https://127.0.0.1/#a"), "--check: https://127.0.0.1/#a, want a URL without a #fragment"},
		{"check of the virtual address", flags("check", "https://10.77.0.100:6443/readyz"), "--check: https://10.77.0.100:6443/readyz asks the virtual address 10.77.0.100, so that the holder would answer for every node; want an address of this node, such as 127.0.0.1"},
		{"check of the virtual address without a port", flags("check", "http://10.77.0.100"), "--check: http://10.77.0.100 asks the virtual address 10.77.0.100, so that the holder would answer for every node; want an address of this node, such as 127.0.0.1"},
		{"check of the virtual address by connecting", flags("check", "tcp://10.77.0.100:6443"), "--check: tcp://10.77.0.100:6443 asks the virtual address 10.77.0.100, so that the holder would answer for every node; want an address of this node, such as 127.0.0.1"},
		{"check of the virtual address in other letters", flags("check", "https://[::ffff:10.77.0.100]:6443/readyz?x"), "--check: https://[::ffff:10.77.0.100]:6443/readyz?x asks the virtual address 10.77.0.100, so that the holder would answer for every node; want an address of this node, such as 127.0.0.1"},
		{"check of the IPv6 virtual address", inFile("vips:\n- addresses: [10.77.0.1, 'fd00::1']\n  check: 'https://[fd00:0::1]:6443/readyz'\n"), "FILE:5: vips[0].check.url: https://[fd00:0::1]:6443/readyz asks the virtual address fd00::1, so that the holder would answer for every node; want an address of this node, such as 127.0.0.1"},
		{"check of another entry's virtual address", two("vrrp: {id: 1}", "vrrp: {id: 2}, check: 'https://10.77.0.1:6443/readyz'"), "FILE:5: vips[1].check.url: https://10.77.0.1:6443/readyz asks the virtual address 10.77.0.1, so that the holder would answer for every node; want an address of this node, such as 127.0.0.1"},
		{"CA for http", flags("check", "http://127.0.0.1/", "check-ca", "/ca"), "--check-ca: set for http://127.0.0.1/, want an https URL or no CA"},
		{"CA for none", flags("check", "none", "check-ca", "/ca"), "--check-ca: set for none, want an https URL or no CA"},
		{"name without CA", flags("check-server-name", "kubernetes"), "--check-server-name: set without check.ca, so that nothing is verified; want both or neither"},
		{"check interval", flags("check-interval", "1ms"), "--check-interval: 1ms, want a duration from 10ms to 10m0s"},
		{"check timeout", flags("check-timeout", "2m"), "--check-timeout: 2m, want a duration from 10ms to 1m0s"},
		{"fall 0", flags("check-fall", "0"), "--check-fall: 0, want a number from 1 to 1000"},
		{"a failure seen too late", flags("check-fall", "1000", "check-interval", "10s"), "--check-fall: 1000 probes of up to 10s each, want a failure seen within an hour"},
		// Addresses.
		{"no address", flags("vip", ""), `--vip: "", want an IPv4 or IPv6 address`},
		{"no addresses in a file", inFile("vips:\n- name: a\n"), "FILE:4: vips[0].addresses: none, want at least one, such as [10.77.0.100]"},
		{"no such address", flags("vip", "10.77.0.300"), "--vip: 10.77.0.300, want an IPv4 or IPv6 address"},
		{"host name", flags("vip", "api.example.com"), "--vip: api.example.com, want an IPv4 or IPv6 address"},
		{"multicast", flags("vip", "224.0.0.18"), "--vip: 224.0.0.18 is multicast, want a unicast address"},
		{"multicast IPv6", flags("vip", "ff02::12"), "--vip: ff02::12 is multicast, want a unicast address"},
		{"loopback", flags("vip", "127.0.0.1"), "--vip: 127.0.0.1 is a loopback address, want one that other machines can reach"},
		{"loopback IPv6", flags("vip", "::1"), "--vip: ::1 is a loopback address, want one that other machines can reach"},
		{"unspecified", flags("vip", "0.0.0.0"), "--vip: 0.0.0.0 is unspecified, want a unicast address"},
		{"unspecified IPv6", flags("vip", "::"), "--vip: :: is unspecified, want a unicast address"},
		{"broadcast", flags("vip", "255.255.255.255"), "--vip: 255.255.255.255 is reserved or broadcast, want a unicast address"},
		{"zone", flags("vip", "fe80::1%eth0"), "--vip: fe80::1%eth0 has a zone, want the address alone and its link under interface"},
		{"IPv4 in IPv6", flags("vip", "::ffff:10.77.0.1"), "--vip: ::ffff:10.77.0.1 is IPv4 written as IPv6, want 10.77.0.1"},
		{"prefix length", flags("vip", "10.77.0.1/33"), "--vip: 10.77.0.1/33, want a prefix length from 1 to 32"},
		{"prefix length 0", flags("vip", "fd77::1/0"), "--vip: fd77::1/0, want a prefix length from 1 to 128"},
		{"prefix length with a sign", flags("vip", "10.77.0.1/+24"), "--vip: 10.77.0.1/+24, want a prefix length from 1 to 32"},
		{"network address", flags("vip", "10.77.0.0/24"), "--vip: 10.77.0.0/24 is the network or broadcast address of its subnet, want a host address"},
		{"subnet's broadcast", flags("vip", "10.77.0.255/24"), "--vip: 10.77.0.255/24 is the network or broadcast address of its subnet, want a host address"},
		{"twice in one flag", flags("vip", "10.77.0.1,10.77.0.1"), "--vip: 10.77.0.1 is given twice, want it once"},
		{"twice with another length", flags("vip", "10.77.0.1,10.77.0.1/24"), "--vip: 10.77.0.1 is in vips[0] already, want it once"},
		// Several.
		{"several without names", inFile("vips:\n- addresses: [10.77.0.1]\n- addresses: [10.77.0.2]\n"), "FILE:4: vips[0].name: missing, want a name of its own for each of several virtual addresses\nFILE:5: vips[1].name: missing, want a name of its own for each of several virtual addresses"},
		{"same name", inFile("vips:\n- {name: a, addresses: [10.77.0.1]}\n- {name: a, addresses: [10.77.0.2]}\n"), "FILE:5: vips[1].name: a is also the name of vips[0], want another"},
		{"same address", inFile("vips:\n- {name: a, addresses: [10.77.0.1], vrrp: {id: 1}}\n- {name: b, addresses: [10.77.0.1/24], vrrp: {id: 2}}\n"), "FILE:5: vips[1].addresses: 10.77.0.1 is in vips[0] already, want it once"},
		{"same VRID", two("vrrp: {id: 7}", "vrrp: {id: 7}"), "FILE:5: vips[1].vrrp.id: VRID 7 is also that of vips[0] on the same link, want another"},
		{"same VRID, same link", two("vrrp: {id: 7}, interface: eth0", "interface: eth0, vrrp: {id: 7}"), "FILE:5: vips[1].vrrp.id: VRID 7 is also that of vips[0] on the same link, want another"},
		{"flag with several", Input{Flags: map[string][]string{"priority": {"5"}}, Env: two("vrrp: {id: 1}", "vrrp: {id: 2}").Env}, "--priority: describes one virtual address, but FILE has 2 under vips; set vips[].priority there"},
		{"variable with several", Input{Env: append(two("vrrp: {id: 1}", "vrrp: {id: 2}").Env, "KEEPVIP_CHECK=none")}, "KEEPVIP_CHECK: describes one virtual address, but FILE has 2 under vips; set vips[].check.url there"},
		// Other sources.
		{"variable", Input{Env: []string{"KEEPVIP_VIP=10.77.0.100", "KEEPVIP_VRID=0"}}, "KEEPVIP_VRID: 0, want a number from 1 to 255"},
		{"flag that nobody knows", flags("vird", "5"), "--vird: unknown flag, want one of the reference"},
		{"all of it at once", inFile("vips:\n- addresses: [10.77.0.1]\n  priority: 0\n  vrrp: {id: 0}\nsocket: 5\n"), "FILE:5: vips[0].priority: 0, want a number from 1 to 254\nFILE:6: vips[0].vrrp.id: 0, want a number from 1 to 255\nFILE:7: socket: 5, want a string (in quotes if need be): path"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Load(tt.give)
			require.Error(t, err)
			assert.Nil(t, c)
			want := "config: " + strings.ReplaceAll(strings.ReplaceAll(tt.want, "\n", "\nconfig: "), "FILE", EnvInline)
			assert.Equal(t, want, err.Error())
		})
	}
}

func TestLoadRefusesWithTypedProblems(t *testing.T) {
	_, err := Load(inFile("vips:\n- addresses: [10.77.0.1]\n  priority: 0\n"))
	var p *Problem
	require.ErrorAs(t, err, &p)
	assert.Equal(t, &Problem{Origin: Origin{Source: File, Name: EnvInline, Line: 5}, Key: "vips[0].priority", Text: "0, want a number from 1 to 254"}, p)
}

func TestLoadBoundsItsComplaints(t *testing.T) {
	var text strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&text, "key%d: 1\n", i)
	}
	_, err := Load(inFile(text.String()))
	require.Error(t, err)
	lines := strings.Split(err.Error(), "\n")
	assert.Len(t, lines, mostProblems+1)
	assert.Equal(t, "config: 4980 more problems", lines[mostProblems])
}

func TestLoadRefusesFiles(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "keepvip.yaml")
	require.NoError(t, os.WriteFile(good, []byte(head+"vips: [{addresses: [10.77.0.1]}]\n"), 0o644))
	tests := []struct {
		name string
		give Input
		want string
	}{
		{"missing", Input{File: dir + "/none"}, "config: " + dir + "/none: no such file or directory"},
		{"directory", Input{File: dir}, "config: " + dir + ": not a regular file, want one"},
		{"device", Input{File: "/dev/zero"}, "config: /dev/zero: not a regular file, want one"},
		{"from a variable", Input{Env: []string{EnvFile + "=" + dir + "/none"}}, "config: " + dir + "/none: no such file or directory"},
		{"file and inline", Input{File: good, Env: []string{EnvInline + "=" + head}}, "config: KEEPVIP_CONFIG_YAML: set together with the file " + good + ", want one of them"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Load(tt.give)
			assert.EqualError(t, err, tt.want)
		})
	}
	_, err := Load(Input{File: good})
	assert.NoError(t, err)
	_, err = Load(Input{File: dir + "/none"})
	assert.True(t, errors.Is(err, os.ErrNotExist))
}

// Which link an entry without an interface's name belongs on is known on the host alone.
func TestCheckLinks(t *testing.T) {
	c := load(t, `vips:
- {name: a, addresses: [10.77.0.1], vrrp: {id: 7}, interface: eth0}
- {name: b, addresses: [10.77.0.2], vrrp: {id: 7}}
- {name: c, addresses: ['fd77::3'], vrrp: {id: 7}}
- {name: d, addresses: [10.77.0.4], vrrp: {id: 8}}
`)
	on := func(b string) func(VIP) (string, bool) {
		return func(v VIP) (string, bool) {
			if v.Name == "b" {
				return b, b != ""
			}
			return "eth0", true
		}
	}
	assert.NoError(t, c.CheckLinks(on("eth1")))
	assert.NoError(t, c.CheckLinks(on("")), "not there yet")
	err := c.CheckLinks(on("eth0"))
	var p *Problem
	require.ErrorAs(t, err, &p)
	assert.Equal(t, "vips[1].vrrp.id", p.Key)
	assert.Equal(t, "VRID 7 is also that of vips[0] on eth0, want another", p.Text)
	assert.NotZero(t, p.Origin.Line)
}
