package config

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSpreadPortsAreThatOfTheCheckOrThoseListed(t *testing.T) {
	tests := []struct{ name, entry, want string }{
		{"off", "", ""},
		{"off by name", "spread: off, check: kubeadm", ""},
		{"the port of the check", "spread: direct", "tcp 6443>6443 "},
		{"masqueraded", "spread: masquerade, check: kubeadm", "tcp 6443>6443 "},
		{"of another check", "spread: direct, check: 'tcp://127.0.0.1:5432'", "tcp 5432>5432 "},
		{"the port of a listed check", "spread: {via: direct}, checks: [{kind: tcp, address: '127.0.0.1:7'}]", "tcp 7>7 "},
		{
			"listed", "spread: {via: direct, ports: [{port: 9443, target: 6443}, {port: 53, protocol: udp, check: dns}]}, checks: [{kind: tcp, name: dns, address: '127.0.0.1:53'}]",
			"tcp 9443>6443  udp 53>53 dns",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			entry := "addresses: [10.77.0.1]"
			if tt.entry != "" {
				entry += ", " + tt.entry
			}
			c := load(t, "vips: [{"+entry+"}]\n")
			var got []string
			for _, p := range c.VIPs[0].SpreadPorts() {
				n := number[uint16](0, 65535)
				got = append(got, string(p.Protocol)+" "+n.format(p.Port)+">"+n.format(p.Target)+" "+p.Check)
			}
			assert.Equal(t, tt.want, strings.Join(got, " "))
		})
	}
}

func TestLoadRefusesWhatCannotBeSpread(t *testing.T) {
	tests := []struct{ name, top, entry, want string }{
		{"no members' protocol", "port: 0", "spread: direct", "FILE:5: vips[0].spread.via: direct with port 0, so that the members do not know each other; want another port, the same on all nodes, or spread off"},
		{"addresses elsewhere", "", "interface: eth0, elsewhere: ['10.77.0.1=eth1'], spread: direct", "FILE:5: vips[0].spread.via: direct with elsewhere, want an entry for each interface, with the same group"},
		{"members behind routers", "", "vrrp: {peers: [10.77.0.11], minTTL: 64}, spread: direct", "FILE:5: vips[0].spread.via: direct with vrrp.minTTL 64, by which members are behind routers; want all of them on one link, or spread off"},
		{"no port", "", "spread: direct, check: none", "FILE:5: vips[0].spread.ports: missing, and no check names a port; want the ports that are spread, such as [{port: 6443}]"},
		{"backends of direct", "", "spread: {via: direct, ports: [{port: 6443}], backends: [{addresses: [10.0.0.1]}]}", "FILE:5: vips[0].spread.backends: set with via direct, which needs a keepvip on each server; want spread.via masquerade"},
		{"backends beside members", "", "spread: {via: masquerade, ports: [{port: 6443}], members: [10.77.0.11], backends: [{addresses: [10.0.0.1]}]}", "FILE:5: vips[0].spread.members: set beside spread.backends, want one of the two: members run keepvip, backends do not"},
		{"a backend without an address", "", "spread: {via: masquerade, ports: [{port: 6443}], backends: [{port: 7}]}", "FILE:5: vips[0].spread.backends[0].addresses: 0 of IPv4, want one address of each family of the virtual addresses"},
		{"a backend twice", "", "spread: {via: masquerade, ports: [{port: 6443}], backends: [{addresses: [10.0.0.1]}, {addresses: [10.0.0.1]}]}", "FILE:5: vips[0].spread.backends[1].addresses: 10.0.0.1 is also that of spread.backends[0], want it once"},
		{"a backend that is here", "", "spread: {via: masquerade, ports: [{port: 6443}], backends: [{addresses: [127.0.0.1]}]}", "FILE:5: vips[0].spread.backends[0].addresses: 127.0.0.1 is a loopback address, want one that other machines can reach"},
		{"one port of several", "", "spread: {via: masquerade, ports: [{port: 6443}, {port: 443}], backends: [{addresses: [10.0.0.1], port: 7}]}", "FILE:5: vips[0].spread.backends[0].port: 7, and several ports are spread; want no port here, and the target of each port"},
		{"a check of a port of backends", "", "checks: [{kind: file, path: /x}], spread: {via: masquerade, ports: [{port: 1, check: file}], backends: [{addresses: [10.0.0.1]}]}", "FILE:5: vips[0].spread.ports[0].check: set with spread.backends, want no check here: spread.backendCheck checks backends"},
		{"backends that are none", "", "check: backends", "FILE:5: vips[0].check.url: backends without spread.backends, want another check"},
		{"a CA of a backend for nothing", "", "spread: {via: masquerade, ports: [{port: 1}], backends: [{addresses: [10.0.0.1], check: {url: tcp, ca: /x}}]}", "FILE:5: vips[0].spread.backends[0].check.ca: set without an https URL, want such a URL, or no CA"},
		{"a check of a backend that is none", "", "spread: {via: masquerade, ports: [{port: 1}], backends: [{addresses: [10.0.0.1], check: ftp}]}", "FILE:5: vips[0].spread.backends[0].check.url: ftp, want an http or https URL such as https://backend:6443/readyz, kubeadm, k3s, rke2, k0s or tcp"},
		{"a CA for nothing", "", "spread: {via: masquerade, ports: [{port: 1}], backends: [{addresses: [10.0.0.1]}], backendCheck: {url: tcp, ca: /x}}", "FILE:5: vips[0].spread.backendCheck.ca: set without an https URL, want such a URL, or no CA"},
		{"another way", "", "spread: maglev", "FILE:5: vips[0].spread.via: maglev, want off or direct or masquerade"},
		{"a port without a number", "", "spread: {via: direct, ports: [{target: 6443}]}", "FILE:5: vips[0].spread.ports[0].port: missing, want the port that clients connect to"},
		{"a port twice", "", "spread: {ports: [{port: 1}, {port: 1, protocol: udp}, {port: 1, target: 2}]}", "FILE:5: vips[0].spread.ports[2].port: 1 of tcp is also that of spread.ports[0], want it once"},
		{"no such check", "", "spread: {ports: [{port: 1, check: db}]}", "FILE:5: vips[0].spread.ports[0].check: db is the name of no check, want that of an entry under checks"},
		{"ports as numbers", "", "spread: {ports: [6443]}", "FILE:5: vips[0].spread.ports[0]: 6443, want a mapping with port, target, protocol, check"},
		{"ports as a number", "", "spread: {ports: 6443}", "FILE:5: vips[0].spread.ports: 6443, want a list: one entry with port for each port that is spread"},
		{"a member of the other family", "", "spread: {members: [10.77.0.11, 'fd77::11']}", "FILE:5: vips[0].spread.members: fd77::11, want the family of the first address 10.77.0.1"},
		{"a virtual address as a member", "", "spread: {members: [10.77.0.1]}", "FILE:5: vips[0].spread.members: 10.77.0.1 is a virtual address, want a node's own"},
		{"too many members", "", "spread: {members: [10.0.0.1, 10.0.0.2, 10.0.0.3, 10.0.0.4, 10.0.0.5, 10.0.0.6, 10.0.0.7, 10.0.0.8]}", "FILE:5: vips[0].spread.members: 8 members, want at most 7"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			top := tt.top
			if top == "" {
				top = "port: 9646"
			}
			_, err := Load(inFile(top + "\nvips:\n- {addresses: [10.77.0.1], " + tt.entry + "}\n"))
			require.Error(t, err)
			got := strings.ReplaceAll(strings.ReplaceAll(err.Error(), "config: ", ""), EnvInline, "FILE")
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestDiffOfSpreadIsLive(t *testing.T) {
	before := load(t, "vips: [{addresses: [10.77.0.1], spread: {via: direct, ports: [{port: 1}]}}]\n")
	tests := []struct{ spread, keys string }{
		{"off", "vips[].spread.via vips[].spread.ports"},
		{"{via: direct, ports: [{port: 1}], weight: 3}", "vips[].spread.weight"},
		{"{via: direct, ports: [{port: 2}], members: [10.77.0.12, 10.77.0.11]}", "vips[].spread.members vips[].spread.ports"},
		{"{via: direct, ports: [{port: 1, target: 2}]}", "vips[].spread.ports"},
	}
	for _, tt := range tests {
		after := load(t, "vips: [{addresses: [10.77.0.1], spread: "+tt.spread+"}]\n")
		d := Diff(before, after)
		require.Len(t, d.Changed, 1)
		assert.Equal(t, vipChange{New: after.VIPs[0], Keys: strings.Fields(tt.keys)}, d.Changed[0])
	}
}

// Of more a member of a cluster could not say how it spreads them: the others would send it nothing, and nobody would say why.
func TestLoadRefusesMoreByRaftThanMembersSay(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(key, bytes.Repeat([]byte("k"), 44), 0o600))
	list := func(n int) string {
		var b strings.Builder
		b.WriteString("key: {file: " + key + "}\nraft: {peers: [10.77.0.11, 10.77.0.12, 10.77.0.13]}\nvips:\n")
		for i := range n {
			fmt.Fprintf(&b, "- {name: v%d, addresses: [10.77.1.%d], election: raft, check: none, spread: {via: direct, ports: [{port: 1}]}}\n", i, i+1)
		}
		return b.String()
	}
	load(t, list(mostSpreadByRaft))
	_, err := Load(inFile(list(mostSpreadByRaft + 2)))
	require.ErrorContains(t, err, "vips[32].spread.via: 33 entries are spread with election raft, want 32 at most: spread off, or election vrrp")
}

func TestBackendCheckIsAskedAtTheBackend(t *testing.T) {
	tests := []struct{ name, spread, want string }{
		{"an apiserver", "ports: [{port: 443, target: 6443}]", "https https://10.0.0.1:6443/readyz   true"},
		{"another service", "ports: [{port: 443}]", "tcp  10.0.0.1:443  false"},
		{"a preset", "ports: [{port: 443}], backendCheck: kubeadm", "https https://10.0.0.1:443/readyz  /etc/kubernetes/pki/ca.crt false"},
		{"a URL with a port", "ports: [{port: 443}], backendCheck: 'http://backend:8080/health'", "http http://10.0.0.1:8080/health   false"},
		{"a port without a host", "ports: [{port: 443}], backendCheck: 'http://:8080/health'", "http http://10.0.0.1:8080/health   false"},
		{"a URL without", "ports: [{port: 443}], backendCheck: {url: 'https://backend/health', ca: /ca}", "https https://10.0.0.1:443/health  /ca false"},
		{"a connection", "ports: [{port: 443, target: 6443}], backendCheck: tcp", "tcp  10.0.0.1:6443  false"},
		{"UDP alone", "ports: [{port: 53, protocol: udp}]", ""},
		{"one of its own", "OWN check: 'http://backend:8080/ok', ALL ports: [{port: 443}], backendCheck: {url: 'https://b/all', ca: /ca, serverName: api}", "http http://10.0.0.1:8080/ok   false"},
		{"a URL of its own", "OWN check: {url: 'https://b/own'}, ALL ports: [{port: 443}], backendCheck: {url: 'https://b/all', ca: /ca, serverName: api}", "https https://10.0.0.1:443/own  /ca false api"},
		{"a CA and a name of its own", "OWN check: {ca: /own, serverName: two}, ALL ports: [{port: 443}], backendCheck: {url: 'https://b/all', ca: /ca, serverName: api}", "https https://10.0.0.1:443/all  /own false two"},
		{"a connection, beside others that are asked", "OWN check: tcp, ALL ports: [{port: 443}], backendCheck: kubeadm", "tcp  10.0.0.1:443  false"},
		{"a preset of its own", "OWN check: k3s, ALL ports: [{port: 443}], backendCheck: tcp", "https https://10.0.0.1:443/readyz  /var/lib/rancher/k3s/server/tls/server-ca.crt false kubernetes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			own, all, has := strings.Cut(strings.TrimPrefix(tt.spread, "OWN "), "ALL ")
			if !has {
				own, all = "", own
			}
			for _, mode := range []string{"internal", "external"} {
				v := load(t, "vips: [{mode: "+mode+", externalAddress: 'lb:443', addresses: [10.77.0.1], spread: {via: masquerade, backends: [{"+own+"addresses: [10.0.0.1]}], "+all+"}}]\n").VIPs[0]
				got := ""
				if h, asked := v.BackendCheck(v.Spread.Backends[0]); asked {
					got = fmt.Sprintln(h.Kind, h.URL, h.Address, h.CA, h.Insecure)
					if own != "" {
						got = fmt.Sprintln(strings.TrimSpace(got), h.ServerName)
					}
				}
				assert.Equal(t, tt.want, strings.TrimSpace(got), mode)
			}
		})
	}
}

func TestCheckOfANodeWithBackends(t *testing.T) {
	const entry = "addresses: [10.77.0.1], spread: {via: masquerade, ports: [{port: 1}], backends: [{addresses: [10.0.0.1]}]}"
	for checks, want := range map[string]CheckKind{"": CheckBackends, ", check: backends": CheckBackends, ", check: kubeadm": CheckHTTPS, ", check: none": ""} {
		v := load(t, "vips: [{"+entry+checks+"}]\n").VIPs[0]
		var got CheckKind
		for _, h := range v.AllChecks() {
			got = h.Kind
		}
		assert.Equal(t, want, got, checks)
	}
}

func TestSpreadRefusesThePortOfTheMembers(t *testing.T) {
	for name, refused := range map[string]bool{"udp": true, "tcp": false} {
		_, err := Load(Input{Env: []string{EnvInline + "=apiVersion: keepvip/v1\nkind: Config\nvips:\n- {addresses: [10.77.0.100], spread: {via: direct, ports: [{port: 9646, protocol: " + name + "}]}}\n"}})
		assert.Equal(t, refused, err != nil && strings.Contains(err.Error(), "9646 of udp is the port of the members themselves"), "%s: %v", name, err)
	}
}
