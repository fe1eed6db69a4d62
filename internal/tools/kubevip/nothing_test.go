package kubevip

import (
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
		_, err := Convert("f", []byte(text), Options{})
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
