package kubevip

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The reasons of a refusal have their places, whichever package finds them.
func TestConvertRefusesWithPlaces(t *testing.T) {
	patch := func(name string) string {
		return "    - op: add\n      path: /spec/template/spec/kubeadmConfigSpec/files/-\n      valueFrom: {variable: " + name + "}\n"
	}
	for text, want := range map[string][]int{
		"kind: ClusterClass\nspec:\n  patches:\n" + patch("kubeVipPod") + patch("kubeVipScript"):                      {6, 9},
		"kind: KubeadmControlPlane\nspec: {kubeadmConfigSpec: {files: [{path: /etc/kube-vip-prepare.sh}]}}\n":         {0},
		"kind: A\nspec:\n- path: /etc/kubernetes/manifests/keepvip.yaml\n":                                            {3},
		pod("vip_arp=yes", "cp_enable=no", "address=10.0.0.1"):                                                        {8, 10},
		pod("vip_arp=true", "cp_enable=true", "address={{ .vip }}") + "---\nkind: ClusterClass\nspec:\n" + patch("a"): {12},
		"a: [\n": {1},
	} {
		_, err := Convert("f", []byte(text), netip.Addr{})
		var got Refused
		require.ErrorAs(t, err, &got, text)
		var lines []int
		for _, r := range got {
			assert.Equal(t, "f", r.File)
			assert.NotEmpty(t, r.Text)
			lines = append(lines, r.Line)
		}
		assert.Equal(t, want, lines, text)
	}
}

func TestIsTellsKubeVIPFromOthers(t *testing.T) {
	tests := map[string]bool{
		pod("vip_arp=true"): true,
		"kind: List\nitems:\n- {kind: Pod, spec: {containers: [{image: a/kube-vip}]}}\n":             true,
		"kind: Pod\nspec: {containers: [{image: rancher/mirrored-kube-vip-kube-vip-iptables:v1}]}\n": true,
		"kind: Pod\nspec: {containers: [{image: keepvip}]}\n":                                        false,
		"apiVersion: keepvip/v1\nkind: Config\naddress: a\nvip: b\n":                                 false,
		"enableARP: true\naddress: 10.0.0.1\n":                                                       true,
		"address: 10.0.0.1\nport: 6443\nnamespace: a\n":                                              false,
		"global_defs {\n  router_id a\n}\n":                                                          false,
		"! Configuration File for keepalived\nvrrp_instance VI_1 {\n  state MASTER\n}\n":             false,
		"# a\n": false,
	}
	for text, want := range tests {
		assert.Equal(t, want, Is([]byte(text)), text)
	}
}

func TestConvertSaysHowToGetThereFromWhatItDoesNotRead(t *testing.T) {
	for text, want := range map[string]string{
		"config: {address: 10.0.0.1}\nenv: {vip_arp: \"true\"}\n":                                                                             "f: the values of kube-vip's Helm chart: helm template",
		"kind: HelmChart\nspec: {chart: kube-vip}\n":                                                                                          "f: a HelmChart, whose manifest the chart makes",
		"kube_vip_enabled: true\nkube_vip_address: 10.0.0.1\n":                                                                                "f: variables of Ansible",
		"machine: {network: {interfaces: [{interface: eth0, vip: {ip: 10.0.0.1}}]}}\n":                                                        "keepvip manifest pod --vip 10.0.0.1",
		"vip: {address: 10.0.0.1, interface: eth0, enableARP: true}\n":                                                                        "f: the values of kube-vip's Helm chart: helm template",
		"helm: {chart: kube-vip, valuesFiles: [values.yaml]}\n":                                                                               "f: a release of kube-vip's Helm chart: helm template kube-vip CHART -f FILE, with its values",
		"kind: Application\nspec: {source: {chart: kube-vip}}\n":                                                                              "f: a release of kube-vip's Helm chart",
		"kind: HelmRelease\nspec: {chart: {spec: {chart: kube-vip}}}\n":                                                                       "f: a release of kube-vip's Helm chart",
		"- hosts: all\n  tasks:\n  - shell: |\n      ctr run kube-vip:v1 vip /kube-vip \\\n      manifest pod --arp --address 10.0.0.1 > f\n": "f:4: a command that makes kube-vip's manifest: convert the file that it writes",
		"kind: A\nspec:\n  run:\n  - kube-vip manifest daemonset --bgp\n":                                                                     "f:4: a command that makes kube-vip's manifest",
	} {
		assert.True(t, Is([]byte(text)), text)
		_, err := Convert("f", []byte(text), netip.Addr{})
		assert.ErrorContains(t, err, want)
	}
}
