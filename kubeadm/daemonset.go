package kubeadm

import (
	"fmt"

	"github.com/keepvip/keepvip/kubeadm/yamledit"
)

// controlPlaneRole is the label of a control-plane node: with kubeadm it is empty, with k3s and RKE2 "true".
const controlPlaneRole = "node-role.kubernetes.io/control-plane"

const daemonSetHead = `# keepvip as a DaemonSet, one pod on every control-plane node. It needs an apiserver to start the first time.
# Where a first node has to hold the address before there is one, use the static pod or the systemd unit.
`

const daemonSetHeadFollower = `# keepvip follow as a DaemonSet, one pod on every node that is no control-plane node. It needs an apiserver to start the first time;
# until then these nodes use the virtual address on the wire.
`

// DaemonSet renders a DaemonSet for clusters whose control-plane nodes are not made by kubeadm, as with k3s and RKE2. With an
// error nothing is rendered.
func DaemonSet(cfg PodConfig) ([]byte, error) {
	spec, err := cfg.spec()
	if err != nil {
		return nil, err
	}
	role, head := "Exists", daemonSetHead
	if cfg.Follower {
		role, head = "DoesNotExist", daemonSetHeadFollower
	}
	spec.Affinity = &affinity{NodeAffinity: nodeAffinity{Required: nodeSelector{Terms: []nodeSelectorTerm{
		{MatchExpressions: []nodeRequirement{{Key: controlPlaneRole, Operator: role}}},
	}}}}
	labels := map[string]string{nameLabel: cfg.name()}
	out, err := yamledit.Marshal(daemonSet{
		APIVersion: "apps/v1", Kind: "DaemonSet",
		Metadata: metadata{Name: cfg.name(), Namespace: "kube-system", Labels: labels},
		Spec: daemonSetSpec{
			Selector: labelSelector{MatchLabels: labels},
			Template: podTemplate{Metadata: metadata{Labels: labels}, Spec: spec},
			// One node after the other: each has taken its part in the election again before the next one leaves it.
			UpdateStrategy: updateStrategy{Type: "RollingUpdate", RollingUpdate: rollingUpdate{MaxUnavailable: 1}},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("kubeadm: render the DaemonSet: %w", err)
	}
	return append([]byte(head), out...), nil
}
