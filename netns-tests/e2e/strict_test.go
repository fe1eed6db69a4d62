//go:build e2e

package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

// kubeadm 1.36.0 goes through the address during init, as all from 1.29 on did:
// without it, init fails after a minute. It gets a machine of its own.
func TestKubeadmThatNeedsTheAddressDuringInit(t *testing.T) {
	if shared.cluster != nil {
		shared.cluster.close()
		shared.cluster, shared.formed, shared.tried = nil, false, false
	}
	c := must(newCluster(shared.host, shared.tools, "kubeadm-strict"))(t)
	t.Cleanup(c.close)
	require.NoError(t, c.init())
	t.Logf("kubeadm init took %v", c.initTook.Round(10*time.Millisecond))
	assert.Less(t, c.initTook, time.Minute)
	node := must(c.lab.Ask(c.lab.Client.Namespace, lab.VIP4, "/readyz", 2*time.Second))(t)
	assert.Equal(t, 1, node)
}
