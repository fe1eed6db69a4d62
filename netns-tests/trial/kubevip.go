package trial

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// KubeVIP stands in for kube-vip on a node, which needs a whole cluster: as the
// leader it binds the address as /32, announces it every 3 s, and takes it away
// on SIGTERM. As a follower it does nothing that others see.
type KubeVIP struct {
	process *lab.Process
	stop    chan struct{}
	done    chan struct{}
}

// StartKubeVIP starts the stand-in.
func StartKubeVIP(n *lab.Node, addr netip.Addr, leader bool) (*KubeVIP, error) {
	k := &KubeVIP{stop: make(chan struct{}), done: make(chan struct{})}
	script := "trap 'exit 0' TERM; sleep infinity & wait"
	if leader {
		what := fmt.Sprintf("%s dev %s", prefix(addr), n.NICs[0].Name)
		script = fmt.Sprintf("ip address add %s; trap 'ip address del %s; exit 0' TERM; sleep infinity & wait", what, what)
	}
	var err error
	if k.process, err = n.Start("kube-vip", "sh", "-c", script); err != nil {
		return nil, err
	}
	go func() {
		defer close(k.done)
		ticker := time.NewTicker(3 * time.Second)
		defer ticker.Stop()
		for leader {
			_ = n.Announce(addr) // before it is bound it is lost, as kube-vip's own
			select {
			case <-ticker.C:
			case <-k.stop:
				return
			}
		}
	}()
	return k, nil
}

// Stop is what the kubelet does when the manifest is gone.
func (k *KubeVIP) Stop() error {
	close(k.stop)
	<-k.done
	return terminate(k.process)
}

// Watched measures what do does to the group; its marks are in the timeline.
func Watched(name string, do func(mark func(string)) error) Fault {
	return func(g *Group) (_ *Result, err error) {
		defer try.Catch(&err)
		m := try.Get(g.watch(name, lab.MeasureConfig{}))
		time.Sleep(100 * time.Millisecond)
		at := m.Mark("%s begins", name)
		err = do(func(what string) { m.Mark("%s", what) })
		r := m.Stop()
		if err != nil {
			return nil, fmt.Errorf("trial: %s: %w", name, err)
		}
		return g.result(name, at, nil, r), nil
	}
}

// LeaseVIP runs kube-vip itself, for comparison: ARP, a control plane, and a Lease with its defaults, in an API that no fault of a node ends. A
// cluster's own API may die with a node. kube-vip knows no ranks, does not ask the apiserver whether it is healthy, and ends by a panic when it
// has lost its Lease, also when it was told to end.
type LeaseVIP struct{}

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
