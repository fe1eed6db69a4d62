//go:build e2e

package e2e

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestKubeadmInitAndJoin(t *testing.T) {
	c := formed(t)
	t.Logf("kubeadm init took %v, joins %v", c.initTook.Round(10*time.Millisecond), c.joinsTook)
	assert.Less(t, c.initTook, time.Minute)
	assert.True(t, strings.HasPrefix(c.join, "join 10.77.0.100:6443 "), c.join)
	for _, m := range c.machines {
		after := must(os.ReadFile(m.file(manifestPath)))(t)
		assert.Equal(t, string(c.manifest), string(after), m.Label)
		for _, name := range []string{"admin.conf", "super-admin.conf"} {
			text, err := os.ReadFile(m.file("etc/kubernetes/" + name))
			if os.IsNotExist(err) && name == "super-admin.conf" && m != c.machines[0] {
				continue // kubeadm makes one only at init
			}
			require.NoError(t, err)
			assert.Contains(t, string(text), "server: https://10.77.0.100:6443\n", "%s of %s", name, m.Label)
		}
	}
	c.podsReady(t)
}

func TestKubeadmTakesWhatPrintKubeadmPrints(t *testing.T) {
	c := formed(t)
	out, err := c.machines[0].run(c.tools.bin+"/kubeadm", "config", "validate", "--config", "/"+kubeadmPath)
	require.NoError(t, err, out)
	assert.Contains(t, string(c.config), "controlPlaneEndpoint: ")
}

// podsReady waits until the five static pods of each machine are ready.
func (c *cluster) podsReady(t *testing.T) {
	t.Helper()
	var last string
	require.Eventually(t, func() bool {
		out, err := c.kubectl("-n", "kube-system", "get", "pods", "--no-headers", "-o",
			`custom-columns=NAME:.metadata.name,READY:.status.conditions[?(@.type=="Ready")].status`)
		last = out
		return err == nil && strings.Count(out, "True") == 15 && strings.Count(out, "\n") == 15
	}, 3*time.Minute, time.Second, "15 pods are ready")
	t.Log(last)
}
