package main

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

// fixture is a manifest of kube-vip.
func fixture(name string) string {
	return filepath.Join("..", "..", "internal", "tools", "kubevip", "testdata", name)
}

// The manifest is the one that `manifest pod` prints with the same options.
func TestConvertOfAKubeVIPPrintsTheManifest(t *testing.T) {
	tests := []struct {
		file   string
		output []string
		same   []string
	}{
		{"v0.4-pod.yaml", nil, []string{"pod", "--vip=10.77.0.100", "--interface=eth0"}},
		{"v0.8-pod.yaml", []string{"-o", "pod"}, []string{"pod", "--vip=10.77.0.100", "--interface=ens192", "--check=https://127.0.0.1:7443/readyz", "--metrics=0.0.0.0:2112"}},
		{"v1.0-pod.yaml", nil, []string{"pod", "--vip=10.77.0.100", "--interface=eth0"}},
		{"v1.0-daemonset.yaml", []string{"-o", "daemonset"}, []string{"daemonset", "--vip=10.77.0.100/24", "--vip=fd77::100/64", "--announce-refresh=5s", "--metrics=0.0.0.0:2113"}},
		{"configuration.yaml", []string{"--image", "example.org/keepvip:v1"}, []string{"pod", "--image", "example.org/keepvip:v1", "--vip=10.77.0.100", "--interface=eth0", "--check=https://127.0.0.1:7443/readyz"}},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			code, out, errs := keepvip(t, append([]string{"convert", fixture(tt.file)}, tt.output...)...)
			require.Equal(t, exitOK, code, errs)
			_, want, wrong := keepvip(t, append([]string{"manifest"}, tt.same...)...)
			require.NotEmpty(t, want, wrong)
			assert.Equal(t, want, out)
			assert.Contains(t, errs, fixture(tt.file)+":")
			assert.Contains(t, errs, ": carried over: ")
		})
	}
}

func TestConvertOfAKubeVIPPrintsTheConfiguration(t *testing.T) {
	code, out, errs := keepvip(t, "convert", fixture("v1.0-pod.yaml"), "-o", "config")
	require.Equal(t, exitOK, code, errs)
	assert.Contains(t, out, "- addresses: [10.77.0.100] # ")
	file := write(t, strings.Replace(out, "interface: eth0", "interface: lo", 1))
	code, _, errs = keepvip(t, "config", "show", file)
	assert.Equal(t, exitOK, code, errs)
}

// capv is Cluster API's template for vSphere, with the interface as its variable.
func capv(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "kubeadm", "testdata", "capv-template.yaml"))
	require.NoError(t, err)
	const arp = "            - name: vip_arp\n"
	require.Contains(t, string(text), arp)
	return write(t, strings.Replace(string(text), arp, "            - name: cp_enable\n              value: \"true\"\n"+
		"            - name: vip_interface\n              value: ${VIP_NETWORK_INTERFACE:=\"\"}\n"+
		"            - name: vip_subnet\n              value: \"24\"\n"+arp, 1))
}

func TestConvertAppliesToTheTemplateThatHasTheKubeVIP(t *testing.T) {
	file := capv(t)
	code, out, errs := keepvip(t, "convert", file, "--apply-to", file)
	require.Equal(t, exitOK, code, errs)
	assert.NotContains(t, out, "kube-vip.yaml")
	assert.Contains(t, out, "- --vip=${CONTROL_PLANE_ENDPOINT_IP}/24\n")
	assert.NotContains(t, out, placeholder)
	assert.Contains(t, out, "path: /etc/kubernetes/manifests/keepvip.yaml")
	assert.Contains(t, out, "path: /etc/vsphere/user.yaml", "what is another's stays")
	assert.Contains(t, errs, "note: took out the file /etc/kubernetes/manifests/kube-vip.yaml\n")
	before, err := os.ReadFile(file)
	require.NoError(t, err)
	line := 1 + strings.Count(string(before[:strings.Index(string(before), "- name: vip_interface")]), "\n")
	assert.Contains(t, errs, fmt.Sprintf("%s:%d: changed: vip_interface", file, line), "the line is the template's")

	merged := write(t, out)
	code, out, errs = keepvip(t, "convert", merged)
	assert.Equal(t, exitUsage, code, "there is no kube-vip any more")
	assert.Empty(t, out)
	assert.NotEmpty(t, errs)
}

func TestConvertAppliesToUserData(t *testing.T) {
	data := write(t, "#cloud-config\n# mine\nwrite_files:\n- path: /etc/kubernetes/manifests/kube-vip.yaml\n  content: |\n    kind: Pod\n"+
		"- path: /etc/motd\n  content: hello\nruncmd:\n- [ctr, image, pull, ghcr.io/kube-vip/kube-vip:v1.0.4]\n- kubeadm init\n")
	code, out, errs := keepvip(t, "convert", fixture("v1.0-pod.yaml"), "--apply-to", data)
	require.Equal(t, exitOK, code, errs)
	assert.True(t, strings.HasPrefix(out, "#cloud-config\n# mine\n"))
	assert.NotContains(t, out, "kube-vip")
	assert.Contains(t, out, "/etc/motd")
	assert.Contains(t, out, "- --interface=eth0")
	assert.Contains(t, out, "- kubeadm init")
	assert.Contains(t, errs, "note: took out of runcmd: ctr image pull ghcr.io/kube-vip/kube-vip:v1.0.4\n")
}

func TestConvertRefusesAKubeVIPThatItCannotReplace(t *testing.T) {
	text, err := os.ReadFile(fixture("v1.0-pod.yaml"))
	require.NoError(t, err)
	name := write(t, strings.Replace(string(text), "value: 10.77.0.100", "value: vip.example.org", 1))
	bad := write(t, strings.Replace(string(text), "value: 10.77.0.100", "value: 127.0.0.1", 1))
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"Services", []string{fixture("v1.0-services.yaml")}, "v1.0-services.yaml:48: svc_enable true without cp_enable"},
		{"a name", []string{name}, ": address vip.example.org: vip.example.org is a name"},
		{"an address that no other machine reaches", []string{bad}, "127.0.0.1 is a loopback address"},
		{"a template without keepvip's place", []string{fixture("v1.0-pod.yaml"), "--apply-to", fixture("v1.0-pod.yaml")}, "want one"},
		{"a template with another address", []string{fixture("v1.0-pod.yaml"), "--apply-to", capv(t)}, "controlPlaneEndpoint ${CONTROL_PLANE_ENDPOINT_IP}"},
		{"a template that is not there", []string{fixture("v1.0-pod.yaml"), "--apply-to", "/none"}, "--apply-to: /none"},
		{"a variable for a manifest of its own", []string{capv(t)}, "address ${CONTROL_PLANE_ENDPOINT_IP}: a variable of clusterctl: for the template run keepvip convert "},
		{"another output in a template", []string{fixture("v1.0-pod.yaml"), "--apply-to", capv(t), "-o", "config"}, "want pod"},
		{"a file without a kube-vip", []string{write(t, "kind: Pod\n")}, "no kube-vip in it"},
		{"a flag for another file", []string{fixture("v1.0-pod.yaml"), "--partial"}, "--partial is given, but the file is a kube-vip"},
		{"a flag of kube-vip for another file", []string{convertSamples + "kubeadm-master.conf", "-o", "pod"}, "--output is given, but the file is a keepalived.conf"},
		{"an output that there is not", []string{fixture("v1.0-pod.yaml"), "-o", "xml"}, `--output "xml"`},
		{"an image without a version", []string{fixture("v1.0-pod.yaml"), "--image", "keepvip"}, "image"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, out, errs := keepvip(t, append([]string{"convert"}, tt.args...)...)
			assert.Equal(t, exitUsage, code)
			assert.Empty(t, out)
			assert.Equal(t, 1, strings.Count(errs, "\n"), errs)
			assert.Contains(t, errs, tt.want)
		})
	}
}

// TestConvertOfAKubeVIPThatSpeaksToRouters has each node announce a route: the pod sees the device on which it hangs.
func TestConvertOfAKubeVIPThatSpeaksToRouters(t *testing.T) {
	_, out, errs := keepvip(t, "convert", fixture("v1.0-bgp.yaml"))
	assert.Contains(t, out, "--election=local")
	assert.Contains(t, out, "path: /dev/net/tun")
	assert.Contains(t, errs, "bgp_as 65000: keepvip speaks no BGP: have BIRD or FRR on the node do it")
	assert.Contains(t, errs, "protocol bgp uplink1 {\n  local as 65000;\n  neighbor 10.77.0.1 as 65000;\n")
	assert.Contains(t, errs, "router bgp 65000\n no bgp ebgp-requires-policy\n neighbor 10.77.0.1 remote-as 65000\n")
}

// The lines that the document shows are what the program prints.
func TestConvertPrintsWhatTheDocumentShows(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "migrate-kube-vip.md"))
	require.NoError(t, err)
	text, err := os.ReadFile(fixture("v1.0-pod.yaml"))
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("kube-vip.yaml", text, 0o600))
	_, _, errs := keepvip(t, "convert", "kube-vip.yaml")
	shown := 0
	for line := range strings.Lines(string(doc)) {
		if strings.HasPrefix(line, "kube-vip.yaml:") {
			assert.Contains(t, errs, line)
			shown++
		}
	}
	assert.Positive(t, shown)
}

func TestConvertReadsAKubeVIPFromStandardInput(t *testing.T) {
	text, err := os.ReadFile(fixture("v1.0-pod.yaml"))
	require.NoError(t, err)
	var out, errs, file, fileErrs bytes.Buffer
	root := newRoot()
	root.SetArgs([]string{"convert", "-"})
	root.SetIn(bytes.NewReader(text))
	root.SetOut(&out)
	root.SetErr(&errs)
	require.NoError(t, root.Execute())
	require.Equal(t, exitOK, execute(t.Context(), []string{"convert", fixture("v1.0-pod.yaml")}, &file, &fileErrs))
	assert.Equal(t, file.String(), out.String())
	assert.Contains(t, errs.String(), "standard input:")
}

func TestManifestOfATemplateWhoseEndpointStandsForAnother(t *testing.T) {
	for _, host := range []string{"192.0.2.1", "0.0.0.0", "2001:db8::1"} {
		path := filepath.Join(t.TempDir(), "t.yaml")
		require.NoError(t, os.WriteFile(path, []byte("kind: Cluster\nspec:\n  controlPlaneEndpoint: {host: \""+host+"\", port: 6443}\n"), 0o600))
		code, out, errs := keepvip(t, "manifest", "kubeadmcontrolplane", "--template", path)
		assert.Equal(t, exitUsage, code)
		assert.Empty(t, out)
		assert.Contains(t, errs, "controlPlaneEndpoint "+host+" stands for an address that is filled in later")
	}
}

// classTemplate is a ClusterClass with a patch, in line 8, the script of kube-vip and the endpoint that a variable writes.
func classTemplate(patch string) string {
	return "kind: ClusterClass\nspec:\n  patches:\n  - name: p\n    definitions:\n    - jsonPatches:\n      - op: add\n        path: /spec/template/spec/" + patch +
		"      - op: add\n        path: /spec/template/spec/controlPlaneEndpoint/host\n        valueFrom: {variable: vip}\n" +
		"---\napiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlaneTemplate\nspec:\n  template:\n    spec:\n      kubeadmConfigSpec:\n" +
		"        files:\n        - path: /etc/motd\n        - path: /etc/kube-vip-prepare.sh\n        preKubeadmCommands:\n        - /etc/kube-vip-prepare.sh\n"
}

const (
	classKubeVIP = "kubeadmConfigSpec/files/0/content\n        valueFrom: {variable: kubeVipPod}\n"
	classKeepvip = "kubeadmConfigSpec/files/-\n        value: {path: /etc/kubernetes/manifests/keepvip.yaml, content: \"kind: Pod\"}\n"
)

// The file says what is wrong with it before an address is asked for.
func TestManifestOfAClass(t *testing.T) {
	bad := write(t, classTemplate(classKubeVIP))
	for _, args := range [][]string{nil, {"--vip", "10.0.0.1"}} {
		code, out, errs := keepvip(t, append([]string{"manifest", "kubeadmcontrolplane", "--template", bad}, args...)...)
		assert.Equal(t, exitUsage, code)
		assert.Empty(t, out)
		assert.Equal(t, 1, strings.Count(errs, "\n"), errs)
		assert.Contains(t, errs, bad+":9: kube-vip would stay beside keepvip, by variable: kubeVipPod; take this out")
		assert.Contains(t, errs, "with {{ .vip }} in place of {{ .controlPlaneVip }}")
	}
	code, out, errs := keepvip(t, "manifest", "kubeadmcontrolplane", "--template", write(t, classTemplate(classKeepvip)))
	require.Equal(t, exitOK, code, errs)
	assert.NotContains(t, out, "kube-vip")
	assert.NotContains(t, out, placeholder)
	assert.Contains(t, errs, "note: the patch in line 8 brings keepvip: what is kube-vip's was taken out, and nothing put in\n")
}

// What is no keepalived.conf by its keys is not read as one.
func TestConvertOfAFileThatHasNoKubeVIP(t *testing.T) {
	file := capv(t)
	_, merged, errs := keepvip(t, "convert", file, "--apply-to", file)
	require.NotEmpty(t, merged, errs)
	for text, want := range map[string]string{
		"---\n" + merged: ": no kube-vip in it, and keepvip is in it already: nothing is left to convert",
		"---\n# a\napiVersion: v1\nkind: Service\nspec: {}\n":                          ": no kube-vip in it, want a Pod",
		"---\napiVersion: v1\nkind: [\n":                                               ":3: not valid YAML: ",
		"{\n  \"kind\": \"Pod\"\n}\n":                                                  ": no kube-vip in it, want a Pod",
		"## template: jinja\n#cloud-config\nruncmd: [a]\n":                             ": no kube-vip in it, want a Pod",
		"#cloud-config\nruncmd: [a]\n":                                                 ": no kube-vip in it, want a Pod",
		"apiVersion: keepvip/v1\nkind: Config\nvips: []\n":                             ":1: no kube-vip in it, and keepvip is in it already",
		"kind: Pod\nspec:\n  containers:\n  - image: ghcr.io/keepvip/keepvip:v0.1.0\n": ":4: no kube-vip in it, and keepvip is in it already",
		classTemplate(classKubeVIP):                                                    ":9: kube-vip would stay beside keepvip, by variable: kubeVipPod; take this out",
		classTemplate(classKeepvip):                                                    ":8: no kube-vip to convert, and keepvip is in it already; keepvip manifest kubeadmcontrolplane --template FILE takes out what is left of kube-vip: /etc/kube-vip-prepare.sh (line 22)",
	} {
		path := filepath.Join(t.TempDir(), "template") // its name says nothing
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		code, out, errs := keepvip(t, "convert", path)
		assert.Equal(t, exitUsage, code)
		assert.Empty(t, out)
		assert.Equal(t, 1, strings.Count(errs, "\n"), errs)
		assert.Contains(t, errs, want)
	}
}

// Services lose their addresses with the manifest that is taken out.
func TestConvertAppliedSaysThatServicesLoseTheirAddresses(t *testing.T) {
	text, err := os.ReadFile(capv(t))
	require.NoError(t, err)
	file := write(t, strings.Replace(string(text), "            - name: vip_arp\n", "            - name: svc_enable\n              value: \"true\"\n            - name: vip_arp\n", 1))
	code, out, errs := keepvip(t, "convert", file, "--apply-to", file)
	require.Equal(t, exitOK, code, errs)
	assert.NotContains(t, out, "kube-vip.yaml")
	assert.Contains(t, errs, "note: /etc/kubernetes/manifests/kube-vip.yaml: its kube-vip serves Services of type LoadBalancer, too, which lose their addresses: to keep them put the file back")
}
