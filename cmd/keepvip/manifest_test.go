package main

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
)

const testImage = "example.org/keepvip:v1"

// manifest prints one kind, which has to work.
func manifest(t *testing.T, args ...string) (out, errs string) {
	t.Helper()
	code, out, errs := keepvip(t, append([]string{"manifest"}, args...)...)
	require.Equal(t, exitOK, code, errs)
	_, again, _ := keepvip(t, append([]string{"manifest"}, args...)...)
	assert.Equal(t, out, again, "the same bytes each time")
	return out, errs
}

func writeAs(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

const fileWithKey = "apiVersion: keepvip/v1\nkind: Config\nkey: {file: /etc/keepvip/key}\nvips:\n- addresses: [10.0.0.1]\n"

func TestEveryManifestRefusesInOneLineAndPrintsNothing(t *testing.T) {
	config := writeAs(t, "c.yaml", fileWithKey)
	exec := writeAs(t, "exec.yaml", "apiVersion: keepvip/v1\nkind: Config\nvips:\n- addresses: [10.0.0.1]\n  checks:\n  - {kind: exec, command: [/bin/true], user: nobody}\n")
	script := writeAs(t, "u", "#!/bin/sh\n")
	key := writeAs(t, "key", strings.Repeat("0f", 32)+"\n")
	cluster := writeAs(t, "k.yaml", "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\ncontrolPlaneEndpoint: 10.0.0.9:6443\n")
	port := writeAs(t, "p.yaml", "apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\nlocalAPIEndpoint: {bindPort: 8443}\n")
	named := writeAs(t, "n.yaml", "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\ncontrolPlaneEndpoint: api.example.org:6443\n")
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"a preset at another port", []string{"pod", "--vip", "10.0.0.1", "--check", "kubeadm", "--kubeadm-config", port}, "--check https://127.0.0.1:8443/readyz"},
		{"pod without an address", []string{"pod"}, "--vip"},
		{"daemonset without an address", []string{"daemonset"}, "--vip"},
		{"pod with a program to run", []string{"pod", "--config", exec}, "kind exec"},
		{"pod with a relative file", []string{"pod", "--inline=false", "--config", "manifest_test.go"}, "config"},
		{"systemd with a relative binary", []string{"systemd", "--vip", "10.0.0.1", "--binary", "keepvip"}, `"keepvip"`},
		{"cloud-init into a script", []string{"cloud-init", "--vip", "10.0.0.1", "--merge", script}, "#cloud-config"},
		{"cloud-init into nothing", []string{"cloud-init", "--vip", "10.0.0.1", "--merge", script + "x"}, "no such file"},
		{"a key without its place", []string{"cloud-init", "--vip", "10.0.0.1", "--key-from", key}, "--key-file"},
		{"a key that is none", []string{"cloud-init", "--config", config, "--key-from", config}, "--key-from"},
		{"a key without a Secret", []string{"kubeadmcontrolplane", "--config", config}, "--key-secret"},
		{"a Secret without a key", []string{"kubeadmcontrolplane", "--vip", "10.0.0.1", "--key-secret", "s"}, "--key-file"},
		{"kubeadm's address is another", []string{"pod", "--vip", "10.0.0.1", "--kubeadm-config", cluster}, "k.yaml:3: controlPlaneEndpoint 10.0.0.9:6443, want the virtual address 10.0.0.1"},
		{"also when it is to be printed", []string{"pod", "--vip", "10.0.0.1", "--kubeadm-config", cluster, "--print-kubeadm"}, "k.yaml:3: "},
		{"kubeadm has no endpoint", []string{"pod", "--kubeadm-config", port}, "p.yaml has no controlPlaneEndpoint to take the address from, want --vip ADDRESS"},
		{"kubeadm's endpoint is a name", []string{"pod", "--kubeadm-config", named}, "the controlPlaneEndpoint api.example.org of " + named + " is a name, want --vip ADDRESS"},
		{"kubeadm's file is missing", []string{"pod", "--kubeadm-config", cluster + "x"}, "no such file"},
		{"Cluster API writes it", []string{"kubeadmcontrolplane", "--vip", "10.0.0.1", "--kubeadm-config", cluster}, "--kubeadm-config"},
		{"a load that cannot be spread", []string{"pod", "--vip", "10.0.0.1", "--spread", "direct", "--port", "0"}, "--spread: direct with port 0"},
		{"a way to spread that there is not", []string{"systemd", "--vip", "10.0.0.1", "--spread", "ipvs"}, "--spread"},
		{"a load without a port", []string{"daemonset", "--vip", "10.0.0.1", "--spread", "direct", "--check", "none"}, "spread.ports"},
		{"preset that there is not", []string{"pod", "--vip", "10.0.0.1", "--check", "k4s"}, "kubeadm, k3s, rke2, k0s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, out, errs := keepvip(t, append([]string{"manifest"}, tt.args...)...)
			assert.Equal(t, exitUsage, code)
			assert.Empty(t, out)
			assert.Equal(t, 1, strings.Count(errs, "\n"), "one line: %s", errs)
			assert.Contains(t, errs, tt.want)
		})
	}
}

func TestManifestPodCarriesTheFileUnlessToldOtherwise(t *testing.T) {
	config := writeAs(t, "c.yaml", fileWithKey)
	out, errs := manifest(t, "pod", "--config", config, "--image", testImage, "--priority", "50")
	assert.Contains(t, out, "KEEPVIP_CONFIG_YAML")
	assert.Contains(t, out, "- --priority=50\n")
	assert.Contains(t, out, "path: /etc/keepvip\n")
	assert.NotContains(t, out, config)
	assert.Contains(t, errs, "does not carry /etc/keepvip/key")

	out, _ = manifest(t, "pod", "--config", config, "--image", testImage, "--inline=false")
	assert.Contains(t, out, "- --config="+config+"\n")
	assert.NotContains(t, out, "KEEPVIP_CONFIG_YAML")
}

func TestManifestPodMountsWhatThePresetVerifiesWith(t *testing.T) {
	for preset, ca := range map[string]string{
		"kubeadm": "/etc/kubernetes/pki/ca.crt", "k3s": "/var/lib/rancher/k3s/server/tls/server-ca.crt",
		"rke2": "/var/lib/rancher/rke2/server/tls/server-ca.crt", "k0s": "/var/lib/k0s/pki/ca.crt",
	} {
		out, _ := manifest(t, "daemonset", "--vip", "10.0.0.1", "--check", preset, "--image", testImage)
		assert.Contains(t, out, "- --check="+preset+"\n")
		assert.Contains(t, out, "path: "+ca+"\n")
	}
}

func TestManifestPodFromAKubeadmConfiguration(t *testing.T) {
	config := writeAs(t, "k.yaml", "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\ncontrolPlaneEndpoint: 10.0.0.9:8443\n---\napiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\nlocalAPIEndpoint: {bindPort: 8443}\n")
	out, errs := manifest(t, "pod", "--kubeadm-config", config, "--image", testImage)
	assert.Empty(t, errs)
	assert.Contains(t, out, "- --vip=10.0.0.9\n")
	assert.Contains(t, out, "- --check=https://127.0.0.1:8443/readyz\n")

	out, _ = manifest(t, "pod", "--kubeadm-config", config, "--image", testImage, "--check", "none")
	assert.Contains(t, out, "- --check=none\n")
	assert.NotContains(t, out, "8443")
}

// The endpoint may have the port at which a load that is spread comes in.
func TestManifestPodOfALoadThatIsSpread(t *testing.T) {
	kubeadm := writeAs(t, "k.yaml", "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\ncontrolPlaneEndpoint: 10.0.0.9:8443\n")
	file := func(target string) string {
		return writeAs(t, "c.yaml", "apiVersion: keepvip/v1\nkind: Config\nvips:\n- addresses: [10.0.0.9]\n  spread: {via: direct, ports: [{port: 8443, target: "+target+"}]}\n")
	}
	manifest(t, "pod", "--config", file("6443"), "--kubeadm-config", kubeadm, "--image", testImage)
	code, out, errs := keepvip(t, "manifest", "pod", "--config", file("6444"), "--kubeadm-config", kubeadm, "--image", testImage)
	assert.Equal(t, exitUsage, code)
	assert.Empty(t, out)
	assert.Contains(t, errs, "want port 6443, on which the apiservers listen (localAPIEndpoint.bindPort): keepvip translates ports only where it spreads the load (spread.ports)")
}

func TestManifestsCarryHowTheLoadIsSpread(t *testing.T) {
	for kind, want := range map[string]string{
		"pod": "- --spread=direct\n", "daemonset": "- --spread=direct\n", "systemd": " --spread=direct\n", "cloud-init": "- --spread=direct\n", "kubeadmcontrolplane": "- --spread=direct\n",
	} {
		out, _ := manifest(t, kind, "--vip", "10.0.0.9", "--spread", "direct")
		assert.Contains(t, out, want, kind)
		assert.Equal(t, kind == "kubeadmcontrolplane", strings.Contains(out, "goaway-chance"), kind)
		out, _ = manifest(t, kind, "--vip", "10.0.0.9")
		assert.NotContains(t, out, "spread", kind)
		assert.NotContains(t, out, "goaway", kind)
	}
	out, _ := manifest(t, "pod", "--vip", "10.0.0.9", "--spread", "direct", "--print-kubeadm")
	assert.Equal(t, "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\ncontrolPlaneEndpoint: 10.0.0.9:6443\napiServer:\n  extraArgs:\n    - name: goaway-chance\n      value: \"0.001\"\n", out)
	old := writeAs(t, "k.yaml", "apiVersion: kubeadm.k8s.io/v1beta3\nkind: ClusterConfiguration\ncontrolPlaneEndpoint: 10.0.0.9:6443\n")
	_, errs := manifest(t, "pod", "--vip", "10.0.0.9", "--spread", "direct", "--kubeadm-config", old)
	assert.Contains(t, errs, "note: "+old+": no goaway-chance in apiServer.extraArgs")
	out, _ = manifest(t, "pod", "--vip", "10.0.0.9", "--spread", "direct", "--kubeadm-config", old, "--print-kubeadm")
	assert.Contains(t, out, "apiServer:\n  extraArgs:\n    goaway-chance: \"0.001\"\n")
}

func TestManifestPrintsTheKubeadmConfiguration(t *testing.T) {
	out, _ := manifest(t, "pod", "--vip", "10.0.0.9,fd00::9", "--print-kubeadm")
	assert.Equal(t, "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\ncontrolPlaneEndpoint: 10.0.0.9:6443\napiServer:\n  certSANs:\n    - fd00::9\n", out)
	out, _ = manifest(t, "pod", "--vip", "10.0.0.9", "--kubeadm-config", writeAs(t, "k.yaml", "# mine\napiVersion: kubeadm.k8s.io/v1beta3\nkind: ClusterConfiguration\n"), "--print-kubeadm")
	assert.Equal(t, "# mine\napiVersion: kubeadm.k8s.io/v1beta3\nkind: ClusterConfiguration\ncontrolPlaneEndpoint: 10.0.0.9:6443\n", out)
}

func TestManifestSystemd(t *testing.T) {
	out, _ := manifest(t, "systemd", "--vip", "10.0.0.1", "--check", "k0s")
	assert.Regexp(t, `\nExecStart=/\S+ run --vip=10.0.0.1 --check=k0s\n`, out)
	config := writeAs(t, "c.yaml", fileWithKey)
	out, errs := manifest(t, "systemd", "--config", config, "--realtime")
	assert.Contains(t, out, " run --config="+config+" --realtime=true\n")
	assert.Contains(t, errs, "/etc/keepvip/key")
}

func TestManifestSystemdGivesAnExecCheckItsCapabilities(t *testing.T) {
	config := writeAs(t, "c.yaml", "apiVersion: keepvip/v1\nkind: Config\nvips:\n- addresses: [10.0.0.1]\n  checks:\n  - {name: x, kind: exec, command: [/bin/x], user: nobody}\n")
	for _, args := range [][]string{{"systemd", "--config", config}, {"cloud-init", "--systemd", "--config", config}} {
		out, _ := manifest(t, args...)
		assert.Contains(t, out, "CapabilityBoundingSet=CAP_NET_ADMIN CAP_NET_RAW CAP_SETUID CAP_SETGID CAP_KILL\n")
	}
	out, _ := manifest(t, "systemd", "--vip", "10.0.0.1")
	assert.NotContains(t, out, "SETUID")
}

func TestManifestSystemdNamesTheProgramThatPrintsIt(t *testing.T) {
	for self, want := range map[string]string{
		"/usr/local/bin/keepvip":       "/usr/local/bin/keepvip",
		"/opt/keepvip/bin/keepvip":     "/opt/keepvip/bin/keepvip",
		"/usr/bin/keepvip":             "/usr/bin/keepvip",
		"/home/ann/bin/keepvip":        "/usr/bin/keepvip",
		"/root/keepvip":                "/usr/bin/keepvip",
		"/tmp/go-build1/b001/keepvip":  "/usr/bin/keepvip",
		"/var/tmp/keepvip":             "/usr/bin/keepvip",
		"/run/user/1000/keepvip":       "/usr/bin/keepvip",
		"/usr/local/bin/keepvip-0.1.0": "/usr/local/bin/keepvip-0.1.0",
	} {
		assert.Equal(t, want, unitBinary(self), self)
	}
	out, _ := manifest(t, "systemd", "--vip", "10.0.0.1", "--binary", "/opt/keepvip")
	assert.Contains(t, out, "ExecStart=/opt/keepvip run --vip=10.0.0.1\n")
}

func TestManifestCloudInitCarriesTheKeyOnlyAsAFile(t *testing.T) {
	config := writeAs(t, "c.yaml", fileWithKey)
	secret := strings.Repeat("0f", 32)
	key := writeAs(t, "key", secret+"\n")
	out, errs := manifest(t, "cloud-init", "--config", config, "--image", testImage, "--key-from", key)
	assert.Empty(t, errs)
	assert.Equal(t, 1, strings.Count(out, secret))
	assert.Contains(t, out, "  - path: /etc/keepvip/key\n    owner: root:root\n    permissions: \"0600\"\n")
	assert.Contains(t, out, "  - path: /etc/keepvip/keepvip.yaml\n")
	assert.Contains(t, out, "- --config=/etc/keepvip/keepvip.yaml\n")

	out, errs = manifest(t, "cloud-init", "--config", config, "--image", testImage)
	assert.NotContains(t, out, secret)
	assert.Contains(t, errs, "does not carry /etc/keepvip/key")

	out, _ = manifest(t, "cloud-init", "--vip", "10.0.0.1", "--systemd", "--merge", writeAs(t, "u", "#cloud-config\nruncmd:\n- kubeadm init # now\n"))
	assert.Contains(t, out, "runcmd:\n- [systemctl, daemon-reload]\n- [systemctl, enable, --now, keepvip]\n- kubeadm init # now\n")
}

func TestManifestControlPlane(t *testing.T) {
	out, _ := manifest(t, "kubeadmcontrolplane", "--vip", "10.0.0.1", "--image", testImage, "--key-file", "/etc/keepvip/key", "--key-secret", "blue-key/k")
	assert.Contains(t, out, "controlPlaneEndpoint: 10.0.0.1:6443\n")
	assert.Contains(t, out, "        contentFrom:\n          secret:\n            name: blue-key\n            key: k\n")

	template := filepath.Join("..", "..", "kubeadm", "testdata", "capv-template.yaml")
	out, errs := manifest(t, "kubeadmcontrolplane", "--template", template, "--image", testImage)
	assert.Contains(t, out, "- --vip=${CONTROL_PLANE_ENDPOINT_IP}\n")
	assert.NotContains(t, out, placeholder)
	assert.NotContains(t, out, "/etc/kube-vip.hosts")
	assert.Contains(t, errs, "note: took out the file /etc/kube-vip.hosts\n")

	code, out, errs := keepvip(t, "manifest", "kubeadmcontrolplane", "--template", template, "--image", testImage, "--vip", "10.0.0.1")
	assert.Equal(t, exitUsage, code)
	assert.Empty(t, out)
	assert.Contains(t, errs, "controlPlaneEndpoint ${CONTROL_PLANE_ENDPOINT_IP} of VSphereCluster, want 10.0.0.1:6443")
}

func TestCredentialFilesAreTheCAAndTheToken(t *testing.T) {
	v := config.VIP{Checks: []config.ListedCheck{{Kind: config.CheckHTTPS, CA: "/ca", TokenFile: "/t"}, {Kind: config.CheckGateway}}}
	assert.Equal(t, []string{"/ca", "/t"}, credentialFiles(v))
	v.Spread = config.Spread{
		Via: config.ViaMasquerade, Ports: []config.SpreadPort{{Port: 6443, Protocol: config.ProtocolTCP}}, BackendCheck: config.Check{URL: "https://b/readyz", CA: "/all"},
		Backends: []config.Backend{{Addresses: addrs("10.0.0.1")}, {Addresses: addrs("10.0.0.2"), Check: config.Check{CA: "/own"}}},
	}
	assert.Equal(t, []string{"/ca", "/t", "/all", "/own"}, credentialFiles(v))
}

func addrs(s string) []netip.Addr { return []netip.Addr{netip.MustParseAddr(s)} }
