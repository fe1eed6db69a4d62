package doctor

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/config"
)

func TestUnknownIsWhatNobodyHasAnswered(t *testing.T) {
	assert.Empty(t, Unknown(good(t)))

	f := good(t)
	f.Wires[0].Adverts, f.Wires[0].Hellos = nil, f.Wires[0].Hellos[:1] // this host's own
	f.Certificates, f.Endpoints = nil, nil
	f.NotServing = []Serving{{VIP: "apiserver", URL: "https://127.0.0.1:6443"}}
	assert.Equal(t, []string{
		"no other node was heard on eth0: whether protocol 112 and the members' UDP port pass between the nodes is not known (run it on all nodes at the same time, with --peers)",
		"nothing answers at https://127.0.0.1:6443 yet: the names in the certificate there are not known",
		"there is no /etc/kubernetes/admin.conf yet, and no --kubeadm-config: whether the cluster's clients use the address is not known",
	}, Unknown(f))

	f.Peers = []Peer{{Address: peer, HeardVRRP: true}}
	assert.Len(t, Unknown(f), 2, "another doctor was heard")
	f.Peers, f.NotServing = nil, nil
	f.VIPs[0].Election = config.ElectionRaft
	assert.Empty(t, Unknown(f), "Raft's voters are connected to, and no apiserver is checked")
}
