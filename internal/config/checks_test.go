package config

import (
	"net/netip"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// listing is a configuration of one VIP with these checks, each in a line of its own from the sixth on.
func listing(checks ...string) Input {
	return inFile("vips:\n- addresses: [10.77.0.100]\n  checks:\n  - " + strings.Join(checks, "\n  - ") + "\n")
}

func TestChecksOfEveryKind(t *testing.T) {
	in := listing(
		`{kind: https, name: apiserver, url: "https://127.0.0.1:6443/readyz", ca: /ca, serverName: kubernetes, codes: [200, 204], clientCert: /c, clientKey: /k, tokenFile: /t}`,
		`{kind: https, name: other, url: "https://127.0.0.1/", insecure: true, weight: -20, interval: 10ms, timeout: 1s, rise: 1, fall: 1, counts: plain, watch: false}`,
		`{kind: http, url: "http://127.0.0.1/"}`,
		`{kind: tcp, address: "[::1]:5432", weight: 253}`,
		`{kind: exec, command: [/bin/true, -a, x, -a, x], user: 65534}`,
		`{kind: process, name: workers, process: w, quorum: 2, quorumMax: 4, arguments: [], match: begin}`,
		`{kind: file, path: /run/x, absent: true, maxAge: 1m}`,
		`{kind: process, process: haproxy}`,
		`{kind: interface, interface: eth1}`,
		`{kind: gateway}`,
		`{kind: gateway, name: second, router: "fe80::1"}`,
	)
	in.Elsewhere = true
	c, err := Load(in)
	require.NoError(t, err)
	const ms = time.Millisecond
	base := ListedCheck{Interval: 300 * ms, Timeout: 600 * ms, Rise: 2, Fall: 3, Counts: countsDamped, Watch: true, QuorumMax: MostProcesses, Match: matchExact}
	with := func(change func(*ListedCheck)) ListedCheck { h := base; change(&h); return h }
	assert.Equal(t, []ListedCheck{
		with(func(h *ListedCheck) {
			h.Kind, h.Name, h.URL, h.CA, h.ServerName = CheckHTTPS, "apiserver", "https://127.0.0.1:6443/readyz", "/ca", "kubernetes"
			h.Codes, h.ClientCert, h.ClientKey, h.TokenFile = []int{200, 204}, "/c", "/k", "/t"
		}),
		{Kind: CheckHTTPS, Name: "other", URL: "https://127.0.0.1/", Insecure: true, Weight: -20, Interval: 10 * ms, Timeout: time.Second, Rise: 1, Fall: 1, Counts: CountsPlain, QuorumMax: MostProcesses, Match: matchExact},
		with(func(h *ListedCheck) { h.Kind, h.Name, h.URL = CheckHTTP, "http", "http://127.0.0.1/" }),
		with(func(h *ListedCheck) { h.Kind, h.Name, h.Address, h.Weight = CheckTCP, "tcp", "[::1]:5432", 253 }),
		with(func(h *ListedCheck) {
			h.Kind, h.Name, h.Command, h.User = CheckExec, "exec", []string{"/bin/true", "-a", "x", "-a", "x"}, "65534"
		}),
		with(func(h *ListedCheck) {
			h.Kind, h.Name, h.Process, h.Quorum, h.QuorumMax, h.Arguments, h.Match = CheckProcess, "workers", "w", 2, 4, []string{}, MatchBegin
		}),
		with(func(h *ListedCheck) {
			h.Kind, h.Name, h.Path, h.Absent, h.MaxAge = CheckFile, "file", "/run/x", true, time.Minute
		}),
		with(func(h *ListedCheck) { h.Kind, h.Name, h.Process = CheckProcess, "process", "haproxy" }),
		with(func(h *ListedCheck) { h.Kind, h.Name, h.Interface = CheckInterface, "interface", "eth1" }),
		with(func(h *ListedCheck) { h.Kind, h.Name = CheckGateway, "gateway" }),
		with(func(h *ListedCheck) {
			h.Kind, h.Name, h.Router = CheckGateway, "second", netip.MustParseAddr("fe80::1")
		}),
	}, c.VIPs[0].Checks)
	var kinds []CheckKind
	for _, h := range c.VIPs[0].Checks {
		kinds = append(kinds, h.Kind)
	}
	assert.Subset(t, kinds, CheckKinds())
	shown := texts(c)
	assert.Equal(t, "/bin/true, -a, x, -a, x", shown["vips[0].checks[4].command"])
	assert.NotContains(t, shown, "vips[0].checks[4].url")
	assert.Empty(t, shown["vips[0].checks[9].router"])
	assert.Equal(t, "fe80::1", shown["vips[0].checks[10].router"])
	assert.Equal(t, EnvInline+":7", c.Origin("vips[0].checks[1].weight").String())
	assert.Empty(t, Diff(c, c))
}

func TestChecksRefused(t *testing.T) {
	const at = "FILE:6: vips[0].checks[0]"
	tests := []struct {
		name string
		give Input
		want string // lines without "config: "
	}{
		{"no list", inFile("vips:\n- addresses: [10.77.0.100]\n  checks: {kind: tcp}\n"), "FILE:5: vips[0].checks: a mapping, want a list: one entry with kind for each check"},
		{"an empty list", inFile("vips:\n- addresses: [10.77.0.100]\n  checks: []\n"), "FILE:5: vips[0].checks: an empty list, want at least one check, or check: none in its place"},
		{"no mapping", listing("none"), at + `: "none", want a mapping with ` + keysOf("vips", "checks")},
		{"no kind", listing("{address: 'a:1'}"), at + ".kind: missing, want one of " + joined(CheckKinds(), ", ")},
		{"another kind", listing("{kind: udp}"), at + ".kind: udp, want " + joined(CheckKinds(), " or ")},
		{"a key of another kind", listing("{kind: tcp, address: '127.0.0.1:1', url: 'http://a/'}"), at + ".url: not of kind tcp, which has address, watch"},
		{"kind as a key", listing("{name: a, exec: /bin/true}"), at + ".exec: unknown key, want kind: exec"},
		{"unknown key", listing("{kind: tcp, adress: '127.0.0.1:1'}"), at + ".adress: unknown key, did you mean address?"},
		{"nothing to look at", listing("{kind: tcp}"), at + ".address: missing, kind tcp wants one"},
		{"a program without a user", listing("{kind: exec, command: [/bin/true]}"), at + ".user: missing, kind exec wants one"},
		{"a program by name", listing("{kind: exec, command: [sleep, '1'], user: nobody}"), at + ".command: sleep, want a list that begins with an absolute path"},
		{"no program", listing("{kind: exec, command: [], user: nobody}"), at + ".command: an empty list, want a list that begins with an absolute path"},
		{"a shell line", listing("{kind: exec, command: /bin/true -x, user: nobody}"), at + `.command: "/bin/true -x", want a list such as [/bin/true -x]`},
		{"a user with a space", listing("{kind: exec, command: [/bin/true], user: 'no body'}"), at + `.user: "no body", want a user's name or id, and a group behind a colon if need be, as nobody or 65534:65534`},
		{"no verification", listing("{kind: https, url: 'https://a/'}"), at + ".ca: missing, want the file of the server's CA, or insecure: true"},
		{"both verifications", listing("{kind: https, url: 'https://a/', ca: /a, insecure: true}"), at + ".insecure: true beside ca, want one of them"},
		{"a name for nothing", listing("{kind: https, url: 'https://a/', serverName: a, insecure: true}"), at + ".serverName: set with insecure, so that nothing is verified; want one of them"},
		{"a token for anybody", listing("{kind: https, url: 'https://a/', tokenFile: /t, insecure: true}"), at + ".tokenFile: a bearer token for a server that is not verified, want ca"},
		{"a key without certificate", listing("{kind: https, url: 'https://a/', ca: /a, clientKey: /k}"), at + ".clientKey: set without clientCert, want both"},
		{"another scheme", listing("{kind: https, url: 'http://a/', ca: /a}"), at + ".url: http://a/ with kind https, want https://..."},
		{"none in a list", listing("{kind: http, url: none}"), at + ".url: none, want an http or https URL such as https://127.0.0.1:6443/readyz"},
		{"a URL without a host", listing("{kind: https, url: 'https://:6443/readyz', insecure: true}"), at + ".url: https://:6443/readyz, want an http or https URL such as https://127.0.0.1:6443/readyz"},
		{"a connection without a host", listing("{kind: tcp, address: ':6443'}"), at + ".address: :6443, want host:port such as 127.0.0.1:5432"},
		{"no statuses", listing("{kind: http, url: 'http://a/', codes: []}"), at + ".codes: an empty list, want at least one status"},
		{"a strange status", listing("{kind: http, url: 'http://a/', codes: [99]}"), at + ".codes: 99, want a number from 100 to 599"},
		{"a router that is no address", listing("{kind: gateway, router: gw.local}"), at + ".router: gw.local, want an IPv4 or IPv6 address"},
		{"a router that is the address itself", listing("{kind: gateway, router: 10.77.0.100}"), at + ".router: 10.77.0.100 is a virtual address of this entry, want that of a router"},
		{"a URL of the address itself", listing("{kind: http, url: 'http://10.77.0.100/healthz'}"), at + ".url: http://10.77.0.100/healthz asks the virtual address 10.77.0.100, so that the holder would answer for every node; want an address of this node, such as 127.0.0.1"},
		{"a connection to the address itself", listing("{kind: tcp, address: '10.77.0.100:6443'}"), at + ".address: 10.77.0.100:6443 asks the virtual address 10.77.0.100, so that the holder would answer for every node; want an address of this node, such as 127.0.0.1"},
		{"a port out of range", listing("{kind: tcp, address: '127.0.0.1:65536'}"), at + ".address: 127.0.0.1:65536, want host:port such as 127.0.0.1:5432"},
		{"a quorum above the most", listing("{kind: process, process: p, quorum: 3, quorumMax: 2}"), at + ".quorum: 3 with quorumMax 2, want at most that"},
		{"a match of nothing", listing("{kind: process, process: p, match: first}"), at + ".match: first without arguments, want both"},
		{"initial without a number", listing("{kind: file, path: /f, initial: 5}"), at + ".initial: 5 without number: true, want both"},
		{"a number that is absent", listing("{kind: file, path: /f, number: true, absent: true}"), at + ".absent: true beside number, want one of them"},
		{"a number with an age", listing("{kind: file, path: /f, number: true, maxAge: 1m}"), at + ".maxAge: 1m0s beside number, want one of them"},
		{"weight out of range", listing("{kind: tcp, address: 'a:1', weight: -255}"), at + ".weight: -255, want a number from -254 to 254"},
		{"a failure seen too late", listing("{kind: tcp, address: 'a:1', fall: 100, interval: 1m}"), at + ".fall: 100 probes of up to 1m0s each, want a failure seen within an hour"},
		{"a weight for the owner", inFile("vips:\n- addresses: [10.77.0.100]\n  vrrp: {owner: true}\n  checks: [{kind: tcp, address: 'a:1', weight: 5}]\n"), "FILE:6: vips[0].checks[0].weight: 5 with vrrp.owner, whose priority is 255, want a condition (0)"},
		{"two of a name", listing("{kind: tcp, address: 'a:1'}", "{kind: tcp, address: 'a:2'}"), "FILE:7: vips[0].checks[1].name: tcp is also the name of checks[0], want another"},
		{"the simple form beside it", inFile("vips:\n- addresses: [10.77.0.100]\n  check: {rise: 2, whenAllUnhealthy: release}\n  checks: [{kind: tcp, address: 'a:1'}]\n"), "FILE:5: vips[0].check.rise: set beside checks, want one of the two forms"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Load(tt.give)
			var want []string
			for line := range strings.Lines(tt.want) {
				want = append(want, "config: "+strings.ReplaceAll(line, "FILE", EnvInline))
			}
			assert.EqualError(t, err, strings.Join(want, ""))
		})
	}
}

func TestChecksAndAFlagForTheSimpleForm(t *testing.T) {
	in := listing("{kind: tcp, address: 'a:1'}")
	in.Flags = map[string][]string{"check": {"none"}}
	_, err := Load(in)
	assert.EqualError(t, err, "config: --check: set beside checks, want one of the two forms")
	in.Flags = map[string][]string{"when-all-unhealthy": {"release"}}
	_, err = Load(in)
	assert.NoError(t, err, "that is about no check")
}

func TestProgramsAreLookedFor(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "keepvip-config-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	program, text := filepath.Join(dir, "program"), filepath.Join(dir, "text")
	require.NoError(t, os.WriteFile(program, nil, 0o755))
	require.NoError(t, os.WriteFile(text, nil, 0o644))
	me, err := user.Current()
	require.NoError(t, err)
	load := func(command, user string) (*Config, error) {
		return Load(listing("{kind: exec, command: [" + command + "], user: '" + user + "'}"))
	}
	const at = "config: KEEPVIP_CONFIG_YAML:6: vips[0].checks[0]"
	for _, tt := range []struct{ command, user, want string }{
		{dir + "/none", "65534", at + ".command: " + dir + "/none: no such program here, want one that exists"},
		{dir, "65534", at + ".command: " + dir + ": not a regular file, want a program"},
		{text, "65534", at + ".command: " + text + ": mode 0644 does not let user 65534 run it, want 0755"},
		{program, "no-such-user-here", at + ".user: no-such-user-here: no such user here, want one that exists, or ids such as 65534:65534"},
		{program, "0", at + ".user: 0 is root, want an unprivileged user, or checksAsRoot: safe"},
		{program, "1:0", at + ".user: 1:0 is root, want an unprivileged user, or checksAsRoot: safe"},
		{program, "root", at + ".user: root has user id 0 and group id 0, want an unprivileged user, or checksAsRoot: safe"},
		{program, "4294967295", at + ".user: 4294967295: no such user here, want one that exists, or ids such as 65534:65534"},
	} {
		_, err := load(tt.command, tt.user)
		assert.EqualError(t, err, tt.want)
	}
	c, err := load(program, "1000:1001")
	require.NoError(t, err)
	assert.Equal(t, []uint32{1000, 1001}, []uint32{c.VIPs[0].Checks[0].UID, c.VIPs[0].Checks[0].GID})
	if me.Uid != "0" {
		c, err = load(program, me.Username)
		require.NoError(t, err)
		assert.Equal(t, me.Uid, strconv.Itoa(int(c.VIPs[0].Checks[0].UID)))
	}
	in := listing("{kind: exec, command: [/no/where], user: no-such-user-here}")
	in.Elsewhere = true
	_, err = Load(in)
	assert.NoError(t, err, "not looked for on this machine")
}

func TestChecksAreTakenOverLive(t *testing.T) {
	load := func(weight string) *Config {
		in := listing("{kind: tcp, address: 'a:1', weight: " + weight + "}")
		c, err := Load(in)
		require.NoError(t, err)
		return c
	}
	d := Diff(load("1"), load("2"))
	require.Len(t, d.Changed, 1)
	assert.Equal(t, []string{"vips[].checks"}, d.Changed[0].Keys)
	assert.False(t, d.Changed[0].Recreate)
}
