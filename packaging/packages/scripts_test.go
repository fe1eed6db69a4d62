package packages

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// purge runs the script that dpkg runs at a purge, below root, which holds these files besides configuration and state.
func purge(t *testing.T, present map[string]string) (out, root string) {
	t.Helper()
	root = t.TempDir()
	for path, text := range map[string]string{"/etc/keepvip/key": "secret", "/var/lib/keepvip/holds": "{}"} {
		writeBelow(t, root, path, text)
	}
	for path, text := range present {
		writeBelow(t, root, path, text)
	}
	script, err := filepath.Abs("scripts/deb/postrm")
	require.NoError(t, err)
	cmd := exec.Command("sh", script, "purge")
	cmd.Env = append(os.Environ(), "DPKG_ROOT="+root)
	text, err := cmd.CombinedOutput()
	require.NoError(t, err, string(text))
	return string(text), root
}

func writeBelow(t *testing.T, root, path, text string) {
	t.Helper()
	path = filepath.Join(root, path)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

func TestDebPurgeKeepsWhatAPodUses(t *testing.T) {
	const pod = "spec:\n  volumes: [{name: state, hostPath: {path: /var/lib/keepvip}}]\n"
	tests := []struct {
		name    string
		present map[string]string
	}{
		{"kubeadm's static pod", map[string]string{"/etc/kubernetes/manifests/keepvip.yaml": pod}},
		{"k3s's static pod", map[string]string{"/var/lib/rancher/k3s/agent/pod-manifests/keepvip.yaml": pod}},
		{"RKE2's static pod", map[string]string{"/var/lib/rancher/rke2/agent/pod-manifests/keepvip.yaml": pod}},
		{"k3s's DaemonSet", map[string]string{"/var/lib/rancher/k3s/server/manifests/keepvip.yaml": pod}},
		{"RKE2's DaemonSet", map[string]string{"/var/lib/rancher/rke2/server/manifests/keepvip.yaml": pod}},
		{"under another name", map[string]string{"/etc/kubernetes/manifests/vip.yml": pod}},
		{"a DaemonSet's pod without a manifest on this node", map[string]string{"/var/lib/kubelet/pods/1b2f/containers/keepvip/0a1b": ""}},
		{"the same with k0s's kubelet", map[string]string{"/var/lib/k0s/kubelet/pods/1b2f/containers/keepvip/0a1b": ""}},
		{"a process that the package did not start", map[string]string{"/proc/4711/comm": "keepvip\n"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, root := purge(t, tt.present)
			assert.FileExists(t, root+"/etc/keepvip/key")
			assert.FileExists(t, root+"/var/lib/keepvip/holds")
			assert.Contains(t, out, "/etc/keepvip and /var/lib/keepvip stay")
		})
	}
}

func TestDebPurgeRemovesWhatNobodyUses(t *testing.T) {
	out, root := purge(t, map[string]string{
		"/etc/kubernetes/manifests/etcd.yaml":                "spec: {}\n",
		"/var/lib/kubelet/pods/1b2f/containers/etcd/0a1b":    "",
		"/var/lib/rancher/k3s/server/manifests/coredns.yaml": "kind: Deployment\n",
		"/proc/4711/comm": "keepalived\n",
	})
	assert.Empty(t, out)
	assert.NoDirExists(t, root+"/etc/keepvip")
	assert.NoDirExists(t, root+"/var/lib/keepvip")
}
