package kubeadm

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An address of a subnet of the cluster's own never leaves a node: Cluster API says there what kubeadm's networking says elsewhere.
func TestMergeControlPlaneRefusesAnAddressOfTheClustersOwnSubnets(t *testing.T) {
	const objects = `apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
spec:
  clusterNetwork:
    pods:
      cidrBlocks: [PODS]
    services:
      cidrBlocks:
      - ${SERVICE_CIDR:="10.128.0.0/12"}
      - SERVICES
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlane
spec:
  kubeadmConfigSpec:
    clusterConfiguration:
      networking:
        podSubnet: NETWORKING
`
	cfg := part(t)
	vip := cfg.Endpoint.Host
	for name, tt := range map[string]struct{ pods, services, networking, want string }{
		"outside":                  {"192.168.0.0/16", "172.20.0.0/16", "192.168.0.0/16", ""},
		"in that of services":      {"192.168.0.0/16", vip + "/16", "192.168.0.0/16", "kubeadm: t:10: services.cidrBlocks "},
		"in that of pods":          {vip + "/16", "172.20.0.0/16", "192.168.0.0/16", "kubeadm: t:6: pods.cidrBlocks "},
		"in that of kubeadm's own": {"192.168.0.0/16", "172.20.0.0/16", "fd00::/64," + vip + "/16", "kubeadm: t:18: podSubnet "},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.NewReplacer("PODS", tt.pods, "SERVICES", tt.services, "NETWORKING", tt.networking).Replace(objects)
			out, _, err := MergeControlPlane("t", []byte(text), cfg)
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, tt.want)
			assert.ErrorContains(t, err, " contains the virtual address "+vip)
			assert.Empty(t, out)
		})
	}
}
