package trial

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// LeaseVIP runs kube-vip itself, for comparison: ARP, a control plane, and a Lease with its defaults, in an API that no fault of a node ends. A
// cluster's own API may die with a node. kube-vip knows no ranks, does not ask the apiserver whether it is healthy, and ends by a panic when it
// has lost its Lease, also when it was told to end.
type LeaseVIP struct{}

// Name implements [Product].
func (LeaseVIP) Name() string { return "kube-vip" }

// KubeVIPBinary is $KUBE_VIP_BINARY, or bin/kube-vip of the repository; empty where there is none.
func KubeVIPBinary() string {
	path := os.Getenv("KUBE_VIP_BINARY")
	if path == "" {
		root, err := Root()
		if err != nil {
			return ""
		}
		path = filepath.Join(root, "bin", "kube-vip")
	}
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// Start implements [Product].
func (k LeaseVIP) Start(n *lab.Node, s Settings) (_ *lab.Process, err error) {
	defer try.Catch(&err)
	if s.API || len(s.Addresses) != 1 {
		return nil, fmt.Errorf("trial: %s is run with one address, and without an apiserver beside it", k.Name())
	}
	api := try.Get(n.LeaseAPI())
	home := n.Path("home")
	if err := os.MkdirAll(filepath.Join(home, ".kube"), 0o700); err != nil {
		return nil, fmt.Errorf("trial: %s: %w", k.Name(), err)
	}
	try.Get(n.WriteFile("home/.kube/config", fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"a","contexts":[{"name":"a","context":{"cluster":"a","user":"a"}}],
"clusters":[{"name":"a","cluster":{"server":%q}}],"users":[{"name":"a","user":{}}]}`, api), 0o600))
	return n.StartCommand(lab.Command{
		Name: "kube-vip",
		Args: []string{
			KubeVIPBinary(), "manager", "--arp", "--controlplane", "--leaderElection", "--interface=" + n.NICs[0].Name, "--address=" + s.Addresses[0].String(),
			"--prometheusHTTPServer=",
		},
		Env: []string{"HOME=" + home, "vip_nodename=" + n.Label},
	})
}
