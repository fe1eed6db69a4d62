//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

// The one cluster that all tests share; its forming takes a minute and more.
var shared struct {
	host    *lab.Host
	tools   tools
	cluster *cluster
	tried   bool
	formed  bool
}

func TestMain(m *testing.M) {
	shared.host = lab.Enter()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if shared.tools, err = findTools(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer shared.host.Close()
	defer func() {
		if shared.cluster != nil {
			shared.cluster.close()
		}
	}()
	return m.Run()
}

// formed is the cluster with three control planes, as after three runs of kubeadm.
func formed(t *testing.T) *cluster {
	t.Helper()
	if !shared.tried {
		shared.tried = true
		require.NoError(t, form())
		shared.formed = true
	}
	require.True(t, shared.formed, "there is no cluster: see the first failure")
	return shared.cluster
}

func form() (err error) {
	if shared.cluster, err = newCluster(shared.host, shared.tools, "kubeadm"); err != nil {
		return err
	}
	return shared.cluster.form()
}
