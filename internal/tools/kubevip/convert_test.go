package kubevip

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
)

// golden compares with a file that `make golden` writes.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), got, "regenerate with make golden and review the difference")
}

func files(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("testdata/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, found)
	return found
}

// report is all that a conversion says.
func report(name string, text []byte) string {
	r, err := Convert(name, text, netip.Addr{})
	if err != nil {
		return err.Error() + "\n"
	}
	cfg, err := r.Config(name)
	if err != nil {
		return err.Error() + "\n"
	}
	out := string(cfg)
	for _, f := range r.Findings {
		out += f.At(name) + "\n"
	}
	return out
}

func TestManifestsOfSeveralVersionsGolden(t *testing.T) {
	for _, file := range files(t) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.True(t, Is(text), file)
		golden(t, strings.TrimSuffix(file, ".yaml")+".golden", report(filepath.Base(file), text))
	}
}

// Nothing is passed over in silence: each line that sets something has a finding.
func TestEverySettingOfAManifestHasAFinding(t *testing.T) {
	for _, file := range files(t) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		r, err := Convert(file, text, netip.Addr{})
		if err != nil {
			continue
		}
		src, err := read(file, text)
		require.NoError(t, err)
		for _, s := range src.settings {
			n := 0
			for _, f := range r.Findings {
				if f.Line == s.line && f.What == s.what() {
					n++
				}
			}
			assert.Equal(t, 1, n, "%s:%d: %s", file, s.line, s.name)
		}
	}
}

// The file and the command line say the same.
func TestConfigurationFileEqualsTheOptions(t *testing.T) {
	for _, file := range files(t) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		r, err := Convert(file, text, netip.Addr{})
		if err != nil {
			continue
		}
		byFlags, err := config.Load(config.Input{Flags: r.Flags(), Elsewhere: true})
		require.NoError(t, err, file)
		written, err := r.Config(file)
		require.NoError(t, err)
		byFile, err := config.Load(config.Input{Env: []string{config.EnvInline + "=" + string(written)}, Elsewhere: true})
		require.NoError(t, err, "%s", written)
		assert.Equal(t, values(byFlags), values(byFile), file)
	}
}

func values(c *config.Config) (out []string) {
	for _, v := range c.Values() {
		out = append(out, v.Key+"="+v.Text)
	}
	return out
}

// pod is a manifest with these settings, the first in line 8, and two lines each.
func pod(pairs ...string) string {
	var b strings.Builder
	b.WriteString("kind: Pod\nspec:\n  containers:\n  - name: kube-vip\n    image: ghcr.io/kube-vip/kube-vip:v1.0.4\n    args: [manager]\n    env:\n")
	for _, p := range pairs {
		name, value, _ := strings.Cut(p, "=")
		fmt.Fprintf(&b, "    - name: %s\n      value: %q\n", name, value)
	}
	return b.String()
}

func TestConvertRefuses(t *testing.T) {
	base := []string{"vip_arp=true", "cp_enable=true"}
	with := func(more ...string) string { return pod(append(append([]string{}, base...), more...)...) }
	tests := []struct {
		name, text string
		want       []string // a part of each line
	}{
		{"no address", with(), []string{"f:4: no address"}},
		{"an address in another file", with("config_file=/etc/kube-vip.yaml"), []string{"f:12: config_file /etc/kube-vip.yaml: no address here"}},
		{"a name", with("address=vip.example.org"), []string{"f:12: address vip.example.org: vip.example.org is a name or a variable"}},
		{"an address that is none", with("address=192.168.0.400"), []string{"f:12: address 192.168.0.400: 192.168.0.400 is no IPv4 or IPv6 address, want one"}},
		{"an IPv6 address that is none", with("address=fd00::1::2"), []string{"fd00::1::2 is no IPv4 or IPv6 address, want one"}},
		{"a variable with a default", with("address=${IP:=10.0.0.1}"), []string{"a variable of clusterctl: for a template run keepvip convert f --apply-to TEMPLATE, or fill it in"}},
		{"a variable of a ClusterClass", with("address={{ .host }}"), []string{"of a ClusterClass take this patch out, and put in that of packaging/clusterapi/clusterclass.yaml"}},
		{"a variable", with("address=${IP}"), []string{"f:12: address ${IP}: a variable of clusterctl: for a template run keepvip convert f --apply-to TEMPLATE"}},
		{"a variable beside an address", with("address=10.0.0.1,${IP}"), []string{"a variable of clusterctl beside another address: fill it in"}},
		{"an address with its prefix", with("address=10.0.0.1/24"), []string{"want the address alone"}},
		{"two addresses that differ", with("address=10.0.0.1", "vip_address=10.0.0.2"), []string{"f:14: vip_address 10.0.0.2, but address 10.0.0.1 in line 12"}},
		{"an address by DHCP", with("address=vip", "vip_ddns=true"), []string{"f:12: address vip", "f:14: vip_ddns true: keepvip gets no address by DHCP, want a fixed one in address, and vip_ddns false; --dhcp then keeps its lease at the server"}},
		{"Wireguard alone", pod("cp_enable=true", "vip_wireguard=true", "address=10.0.0.1"), []string{"keepvip has no Wireguard"}},
		{"no mode", pod("cp_enable=true", "address=10.0.0.1"), []string{"f:4: vip_arp is not true"}},
		{"Services alone", pod("vip_arp=true", "svc_enable=true", "address=10.0.0.1"), []string{"f:10: svc_enable true without cp_enable"}},
		{"neither control plane nor Services", pod("vip_arp=true", "address=10.0.0.1"), []string{"f:4: cp_enable is not true"}},
		{"Services alone, by BGP, without an address", pod("svc_enable=true", "bgp_enable=true"), []string{"svc_enable"}},
		{"a switch that is none", pod("vip_arp=yes", "cp_enable=true", "address=10.0.0.1"), []string{"f:8: vip_arp yes: want true or false"}},
		{"a port that is none", with("address=10.0.0.1", "port=x"), []string{"f:14: port x: want a port"}},
		{"port 0", with("address=10.0.0.1", "port=0"), []string{"want a port"}},
		{"a rate that is none", with("address=10.0.0.1", "vip_arpRate=3s"), []string{"want milliseconds"}},
		{"a subnet that is none", with("address=10.0.0.1", "vip_subnet=33"), []string{"f:14: vip_subnet 33: want a prefix length from 1 to 32"}},
		{"a subnet to be found", with("address=10.0.0.1", "vip_subnet=auto"), []string{"want a prefix length"}},
		{"three subnets", with("address=10.0.0.1", "vip_subnet=24,64,1"), []string{"want one prefix length, or"}},
		{"a load balancer at another port", with("address=10.0.0.1", "lb_enable=true", "lb_port=8443"), []string{"f:16: lb_port 8443: clients come to the load balancer at port 8443, and the apiservers listen on 6443"}},
		{"a load balancer at its default port, apiservers at another", with("address=10.0.0.1", "port=7443", "lb_enable=true"), []string{"f:16: lb_enable true: clients come to the load balancer at port 6443, and the apiservers listen on 7443"}},
		{"an address that is not in the file", "kind: Pod\nspec:\n  containers:\n  - image: kube-vip\n    env:\n    - {name: vip_arp, value: 'true'}\n    - {name: cp_enable, value: 'true'}\n    - {name: address, valueFrom: {configMapKeyRef: {name: a, key: b}}}\n", []string{"f:8: address by valueFrom: the value is not in this file"}},
		{"a mode that is not in the file", "kind: Pod\nspec:\n  containers:\n  - image: kube-vip\n    env:\n    - {name: vip_arp, valueFrom: {}}\n    - {name: cp_enable, value: 'true'}\n    - {name: address, value: 10.0.0.1}\n", []string{"f:6: vip_arp by valueFrom"}},
		{"two kube-vips", with("address=10.0.0.1") + "---\n" + with("address=10.0.0.2"), []string{"more than one kube-vip"}},
		{"no kube-vip", "kind: Pod\nspec: {containers: [{name: a, image: ghcr.io/kube-vip/kube-vip-cloud-provider}]}\n", []string{"f: no kube-vip in it"}},
		{"nothing", "", []string{"no kube-vip in it"}},
		{"no YAML", "a: b: c\n", []string{"f:1: not valid YAML: mapping values are not allowed in this context"}},
		{"an alias", "a: &a {}\nkind: Pod\nspec: *a\n", []string{"f:3: a YAML alias"}},
		{"a key twice", "kind: Pod\nkind: Pod\n", []string{"f:2: the key kind is there twice"}},
		{"no text", "\xff\xfe", []string{"no UTF-8"}},
		{"too much", strings.Repeat("#", maxText+1), []string{"more than 1 MiB"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Convert("f", []byte(tt.text), netip.Addr{})
			require.Error(t, err)
			assert.Nil(t, r)
			lines := strings.Split(err.Error(), "\n")
			require.Len(t, lines, len(tt.want), "%v", err)
			for i, want := range tt.want {
				assert.Contains(t, lines[i], want)
			}
		})
	}
}

func TestConvertCarriesOver(t *testing.T) {
	base := []string{"vip_arp=true", "cp_enable=true", "address=10.0.0.1"}
	tests := []struct {
		name string
		more []string
		want string
	}{
		{"the address alone", nil, "vip=[10.0.0.1]"},
		{"its old name", []string{"address=", "vip_address=10.0.0.2"}, "vip=[10.0.0.2]"},
		{"the last of two", []string{"address=10.0.0.9"}, "vip=[10.0.0.9]"},
		{"dual stack", []string{"address=10.0.0.1, fd00::1"}, "vip=[10.0.0.1 fd00::1]"},
		{"one subnet", []string{"vip_subnet=24"}, "vip=[10.0.0.1/24]"},
		{"a subnet with its slash", []string{"vip_subnet=/24"}, "vip=[10.0.0.1/24]"},
		{"subnets of both families", []string{"address=fd00::1,10.0.0.1", "vip_subnet=24,64"}, "vip=[fd00::1/64 10.0.0.1/24]"},
		{"whole subnets", []string{"address=10.0.0.1,fd00::1", "vip_subnet=32,128"}, "vip=[10.0.0.1 fd00::1]"},
		{"a CIDR, which is for BGP", []string{"vip_cidr=24"}, "vip=[10.0.0.1]"},
		{"an interface", []string{"vip_interface=bond0.12"}, "vip=[10.0.0.1] interface=[bond0.12]"},
		{"lo", []string{"vip_interface=lo"}, "vip=[10.0.0.1]"},
		{"the usual port", []string{"port=6443"}, "vip=[10.0.0.1]"},
		{"another port", []string{"port=7443"}, "vip=[10.0.0.1] check=[https://127.0.0.1:7443/readyz]"},
		{"a load balancer at the same port", []string{"port=7443", "lb_enable=true", "lb_port=7443"}, "vip=[10.0.0.1] check=[https://127.0.0.1:7443/readyz]"},
		{"a load balancer that is off", []string{"lb_enable=false", "lb_port=7443"}, "vip=[10.0.0.1]"},
		{"a rate", []string{"vip_arpRate=10000"}, "vip=[10.0.0.1] announce-refresh=[10s]"},
		{"a rate below the least", []string{"vip_arpRate=100"}, "vip=[10.0.0.1] announce-refresh=[3s]"},
		{"a rate above the most", []string{"vip_arpRate=2147483647"}, "vip=[10.0.0.1] announce-refresh=[24h0m0s]"},
		{"kube-vip's own listener", []string{"prometheus_server=:2112"}, "vip=[10.0.0.1]"},
		{"another listener", []string{"prometheus_server=:2113"}, "vip=[10.0.0.1] metrics=[0.0.0.0:2113]"},
		{"another listener with IPv6", []string{"address=fd00::1", "prometheus_server=:2113"}, "vip=[fd00::1] metrics=[[::]:2113]"},
		{"a listener by its address", []string{"prometheus_server=10.0.0.9:2112"}, "vip=[10.0.0.1] metrics=[10.0.0.9:2112]"},
		{"no listener", []string{"prometheus_server=x"}, "vip=[10.0.0.1]"},
		{"ARP beside BGP", []string{"bgp_enable=true"}, "vip=[10.0.0.1]"},
		{"ARP beside a routing table", []string{"vip_routingtable=true", "vip_routingtableid=200"}, "vip=[10.0.0.1]"},
		{"BGP alone", []string{"vip_arp=false", "bgp_enable=true"}, "election=[local] vip=[10.0.0.1]"},
		{"a routing table", []string{"vip_arp=false", "vip_routingtable=true", "vip_routingtableid=198", "vip_routingprotocol=248"}, "election=[local] vip=[10.0.0.1]"},
		{"another routing table", []string{"vip_arp=false", "vip_routingtable=true", "vip_routingtableid=200", "vip_routingprotocol=201"}, "election=[local] announce-table=[200] announce-protocol=[201] vip=[10.0.0.1]"},
		{"Services beside the control plane", []string{"svc_enable=true"}, "vip=[10.0.0.1]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Convert("f", []byte(pod(append(append([]string{}, base...), tt.more...)...)), netip.Addr{})
			require.NoError(t, err)
			var got []string
			for _, o := range r.Options {
				got = append(got, fmt.Sprintf("%s=%v", o.Flag, o.Values))
			}
			assert.Equal(t, tt.want, strings.Join(got, " "))
			_, err = config.Load(config.Input{Flags: r.Flags(), Elsewhere: true})
			assert.NoError(t, err)
		})
	}
}

// template is a list of files, the last line of head being its key, with the content in the second.
func template(head, content string) string {
	lines := strings.Split(strings.TrimSpace(head), "\n")
	last := lines[len(lines)-1]
	indent := "\n" + strings.Repeat(" ", len(last)-len(strings.TrimLeft(last, " ")))
	files := "\n- path: /etc/motd\n  content: hello\n- path: /pods/kube-vip.yaml\n  content: |\n    " +
		strings.ReplaceAll(strings.TrimSpace(content), "\n", "\n    ")
	return strings.TrimSpace(head) + strings.ReplaceAll(files, "\n", indent) + "\n"
}

func TestConvertFindsTheKubeVIPOfATemplate(t *testing.T) {
	manifest := pod("vip_arp=true", "cp_enable=true", "address=${IP}")
	heads := []string{
		"#cloud-config\nwrite_files:\n",
		"kind: Cluster\n---\nkind: KubeadmControlPlane\nspec:\n  kubeadmConfigSpec:\n    files:\n",
		"kind: KubeadmControlPlaneTemplate\nspec:\n  template:\n    spec:\n      kubeadmConfigSpec:\n        files:\n",
		"kind: KubeadmConfig\nspec:\n  files:\n",
	}
	for _, head := range heads {
		text := template(head, manifest)
		require.True(t, Is([]byte(text)), text)
		_, err := Convert("f", []byte(text), netip.Addr{})
		require.ErrorContains(t, err, "address ${IP}: a variable of clusterctl: for the template run keepvip convert f --apply-to f")

		r, err := Convert("f", []byte(text), netip.MustParseAddr("192.0.2.254"))
		require.NoError(t, err)
		assert.Equal(t, "${IP}", r.Variable)
		assert.Equal(t, "/pods/kube-vip.yaml", r.Path)
		assert.Equal(t, []string{"192.0.2.254"}, r.Flags()["vip"])
		last := r.Findings[len(r.Findings)-1]
		assert.Equal(t, "address ${IP}", last.What)
		assert.Equal(t, "--vip=${IP}", last.Why)
		lines := strings.Split(text, "\n")
		assert.Equal(t, "- name: address", strings.TrimSpace(lines[last.Line-1]))
	}
}

// In one line with others a text has no lines of its own.
func TestConvertGivesTheLineOfATextThatHasNone(t *testing.T) {
	text := fmt.Sprintf("#cloud-config\nwrite_files:\n- path: /a\n  content: %q\n", pod("vip_arp=true", "cp_enable=true", "address=10.0.0.1"))
	r, err := Convert("f", []byte(text), netip.Addr{})
	require.NoError(t, err)
	for _, f := range r.Findings {
		assert.Equal(t, 4, f.Line, f.What)
	}
}

// What is encoded has no lines, either.
func TestConvertReadsATextInBase64(t *testing.T) {
	manifest := base64.StdEncoding.EncodeToString([]byte(pod("vip_arp=true", "cp_enable=true", "address=10.0.0.1")))
	text := fmt.Sprintf("#cloud-config\nwrite_files:\n- path: /a\n  encoding: b64\n  content: |\n    %s\n    %s\n", manifest[:60], manifest[60:])
	require.True(t, Is([]byte(text)))
	r, err := Convert("f", []byte(text), netip.Addr{})
	require.NoError(t, err)
	assert.Equal(t, []string{"10.0.0.1"}, r.Flags()["vip"])
	for _, f := range r.Findings {
		assert.Equal(t, 5, f.Line, f.What)
	}
}

func TestConvertLeavesAnInterfaceThatIsAVariable(t *testing.T) {
	r, err := Convert("f", []byte(pod("vip_arp=true", "cp_enable=true", "address=10.0.0.1", `vip_interface=${NIC:=""}`)), netip.Addr{})
	require.NoError(t, err)
	assert.NotContains(t, r.Flags(), "interface")
}

// Passwords are not repeated.
func TestFindingsNameNoSecret(t *testing.T) {
	r, err := Convert("f", []byte(pod("vip_arp=true", "cp_enable=true", "address=10.0.0.1",
		"bgp_enable=true", "bgp_peerpass=hunter2", "bgp_peers=10.0.0.1:65000:hunter2:false", "PACKET_AUTH_TOKEN=hunter2")), netip.Addr{})
	require.NoError(t, err)
	for _, f := range r.Findings {
		assert.NotContains(t, f.String(), "hunter2")
	}
}

// Every row can be found, and says what becomes of its setting.
func TestTableHasEachSettingOnce(t *testing.T) {
	for _, key := range []func(row) string{func(r row) string { return r.env }, func(r row) string { return r.flag }, func(r row) string { return r.field }} {
		seen := map[string]bool{}
		for _, r := range table {
			k := key(r)
			assert.False(t, k != "" && seen[k], k)
			seen[k] = true
			assert.Equal(t, r.why == "", r.fate == "", r.env)
			assert.Equal(t, strings.ToLower(r.field), r.field)
			if r.needs != "" {
				at := rowOf(func(o *row) bool { return o.env == r.needs })
				assert.True(t, at != nil && at.isSwitch, r.env)
			}
		}
	}
}

// FuzzConvert: a text is refused with a reason, or becomes options, of which keepvip's own validation has the last word; the file says
// the same as the command line.
func FuzzConvert(f *testing.F) {
	found, err := filepath.Glob("testdata/*.yaml")
	require.NoError(f, err)
	for _, file := range found {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(text)
	}
	f.Add([]byte(template("#cloud-config\nwrite_files:\n", pod("vip_arp=true", "cp_enable=true", "address=${IP}"))))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := Convert("f", text, netip.MustParseAddr("192.0.2.254"))
		if err != nil {
			require.NotEmpty(t, err.Error())
			require.Nil(t, r)
			return
		}
		require.True(t, Is(text))
		for _, finding := range r.Findings {
			require.NotContains(t, finding.At("f"), "\n")
		}
		cfg, err := config.Load(config.Input{Flags: r.Flags(), Elsewhere: true})
		if err != nil {
			return
		}
		written, err := r.Config("f")
		require.NoError(t, err)
		again, err := config.Load(config.Input{Env: []string{config.EnvInline + "=" + string(written)}, Elsewhere: true})
		require.NoError(t, err, "%s", written)
		require.Equal(t, values(cfg), values(again), "%s", written)
	})
}

func indented(by, text string) string {
	return by + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+by) + "\n"
}

func TestConvertFindsTheKubeVIPThatIsTextOfAnotherFile(t *testing.T) {
	manifest := pod("vip_arp=true", "cp_enable=true", "address=10.0.0.1")
	for name, text := range map[string]string{
		"Talos pods":                "machine:\n  pods:\n    - " + strings.TrimPrefix(indented("      ", manifest), "      "),
		"Talos inline manifests":    "cluster:\n  inlineManifests:\n  - name: kube-vip\n    contents: |\n" + indented("      ", manifest),
		"a script":                  "#cloud-config\nruncmd:\n- |\n  mkdir -p /m\n  cat > /m/kube-vip.yaml <<'EOF'\n" + indented("  ", manifest) + "  EOF\n  kubeadm init\n",
		"a patch of a ClusterClass": "kind: ClusterClass\nspec:\n  patches:\n  - template: |\n      path: /m/kube-vip.yaml\n      content: |\n" + indented("        ", manifest),
		"a variable beside it":      "kind: KubeadmControlPlane\nspec:\n  kubeadmConfigSpec:\n    keys: [${KEYS}]\n    files:\n    - path: /m\n      content: |\n" + indented("        ", manifest),
	} {
		t.Run(name, func(t *testing.T) {
			require.True(t, Is([]byte(text)))
			r, err := Convert("f", []byte(text), netip.Addr{})
			require.NoError(t, err)
			assert.Equal(t, []string{"10.0.0.1"}, r.Flags()["vip"])
			lines := strings.Split(text, "\n")
			for _, f := range r.Findings {
				if strings.HasPrefix(f.What, "address") {
					assert.Contains(t, lines[f.Line-1], "name: address")
				}
			}
		})
	}
}
