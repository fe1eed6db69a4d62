package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// validate holds the addresses against kubeadm's configuration, as manifest does: those of every entry.
func TestValidateWithKubeadmsConfiguration(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	const cluster = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\ncontrolPlaneEndpoint: 198.51.100.9:6443\n"
	good := write("good.yaml", cluster+"networking:\n  serviceSubnet: 172.20.0.0/16\n")
	bad := write("bad.yaml", cluster+"networking:\n  podSubnet: 172.21.0.0/16\n  serviceSubnet: 198.51.100.0/24\n")
	two := write("keepvip.yaml", "apiVersion: keepvip/v1\nkind: Config\nvips:\n- {name: a, addresses: [198.51.100.9]}\n- {name: b, addresses: [172.21.0.9]}\n")

	code, out, errs := keepvip(t, "config", "validate", "--kubeadm-config", good)
	assert.Equal(t, exitOK, code, errs)
	assert.Equal(t, "the configuration is valid\n", out)

	const wrong = ":6: serviceSubnet 198.51.100.0/24 contains the virtual address 198.51.100.9"
	code, out, errs = keepvip(t, "config", "validate", "--kubeadm-config", bad)
	assert.Equal(t, exitUsage, code)
	assert.Empty(t, out)
	assert.Contains(t, errs, bad+wrong)

	code, _, errs = keepvip(t, "config", "validate", "--kubeadm-config", bad, two)
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, errs, bad+wrong)
	assert.Contains(t, errs, bad+":5: podSubnet 172.21.0.0/16 contains the virtual address 172.21.0.9", "the second entry's")
}
