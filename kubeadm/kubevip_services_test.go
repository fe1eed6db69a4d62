package kubeadm

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// vipFile is the file of a kube-vip with these variables, as an entry of a list.
func vipFile(path string, env ...string) string {
	var b strings.Builder
	b.WriteString("    - path: " + path + "\n      content: |\n        apiVersion: v1\n        kind: Pod\n        spec:\n          containers:\n          - image: ghcr.io/kube-vip/kube-vip:v1.0.0\n            args: [manager]\n            env:\n")
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		b.WriteString("            - {name: " + name + ", " + value + "}\n")
	}
	return b.String()
}

func kcpWith(files, commands string) []byte {
	return []byte("apiVersion: controlplane.cluster.x-k8s.io/v1beta2\nkind: KubeadmControlPlane\nspec:\n  kubeadmConfigSpec:\n    files:\n" + files + "    preKubeadmCommands:\n    - hostname\n" + commands)
}

const (
	on, off  = `value: "true"`, `value: "false"`
	vipsFile = "/etc/kubernetes/manifests/kube-vip.yaml"
	svcFile  = "/etc/kubernetes/manifests/kube-vip-svc.yaml"
	script   = "    - path: /etc/kube-vip-prepare.sh\n      content: sed -i a " + vipsFile + "\n"
	runs1    = "    - /etc/kube-vip-prepare.sh\n"
)

// A kube-vip for Services alone does what keepvip does not.
func TestMergeControlPlaneLeavesAKubeVIPForServices(t *testing.T) {
	for name, file := range map[string]string{
		"switched off":     vipFile(vipsFile, "svc_enable="+on, "cp_enable="+off),
		"not said":         vipFile(vipsFile, "svc_enable="+on),
		"flags":            strings.Replace(vipFile(vipsFile), "[manager]", "[manager, --services]", 1),
		"a flag overruled": strings.Replace(vipFile(vipsFile, "cp_enable="+off), "[manager]", "[manager, --services, --controlplane]", 1),
		"a DaemonSet":      strings.NewReplacer("spec:\n          containers", "spec:\n          template: {spec: {containers: [{image: kube-vip, env: [{name: svc_enable, value: 'true'}]}]}}\n          other", "Pod", "DaemonSet").Replace(vipFile(vipsFile)),
	} {
		t.Run(name, func(t *testing.T) {
			got, notes, err := MergeControlPlane("t", kcpWith(file+script, runs1), part(t))
			require.NoError(t, err)
			for _, part := range []string{file, script, runs1, ManifestPath} {
				assert.Contains(t, string(got), part)
			}
			assert.Contains(t, notes, "left the file "+vipsFile+", and what belongs to it: its kube-vip serves Services of type LoadBalancer alone (svc_enable without cp_enable)")
		})
	}
	for name, file := range map[string]string{
		"from elsewhere": vipFile(vipsFile, "svc_enable="+on, "cp_enable=valueFrom: {}"),
		"a flag":         strings.Replace(vipFile(vipsFile, "svc_enable="+on), "[manager]", "[manager, --controlplane=true]", 1),
		"both":           vipFile(vipsFile, "svc_enable="+on, "cp_enable="+on),
	} {
		got, notes, err := MergeControlPlane("t", kcpWith(file+script, runs1), part(t))
		require.NoError(t, err, name)
		assert.NotContains(t, string(got), kubeVIP)
		assert.Contains(t, notes, vipsFile+": its kube-vip serves Services of type LoadBalancer, too, which lose their addresses: to keep them put the file back, with cp_enable false and without address (docs/services.md)")
	}
}

// Of two the one for the control plane goes, with what names it.
func TestMergeControlPlaneTellsTwoKubeVIPsApart(t *testing.T) {
	services := vipFile(svcFile, "svc_enable="+on)
	files := vipFile(vipsFile, "cp_enable="+on) + services + script
	got, _, err := MergeControlPlane("t", kcpWith(files, runs1+"    - ls "+svcFile+"\n"), part(t))
	require.NoError(t, err)
	assert.Contains(t, string(got), services)
	assert.Contains(t, string(got), "    - ls "+svcFile+"\n")
	assert.NotContains(t, string(got), "prepare")
	assert.NotContains(t, string(got), vipsFile)

	_, _, err = MergeControlPlane("t", kcpWith(services, "    - kube-vip manifest pod --controlplane > /m/a\n"), part(t))
	assert.ErrorContains(t, err, "kube-vip would stay beside keepvip, by preKubeadmCommands: kube-vip manifest pod --controlplane")

	var patch strings.Builder
	patch.WriteString(addsFile)
	for line := range strings.Lines(strings.Replace(services, "- path", "  path", 1)) {
		patch.WriteString("      " + line)
	}
	got, _, err = MergeControlPlane("t", classKCP(patch.String()), part(t))
	require.NoError(t, err, "by a patch: %s", patch.String())
	assert.Contains(t, string(got), "prepare", "it may be that one's")
}

func TestReplaceKubeVIPLeavesOneForServices(t *testing.T) {
	give := "#cloud-config\nwrite_files:\n" + vipFile(vipsFile, "svc_enable="+on) + "runcmd:\n- [ctr, pull, kube-vip]\n"
	got, notes, err := ReplaceKubeVIP("u", []byte(give), part(t).Files)
	require.NoError(t, err)
	assert.Contains(t, string(got), vipFile(vipsFile, "svc_enable="+on))
	assert.Contains(t, string(got), "- [ctr, pull, kube-vip]\n")
	assert.Len(t, notes, 1)
}
