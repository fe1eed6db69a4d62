package trial

import (
	"cmp"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// holding is a product with which the address is bound on all nodes: what tells its holder is something else.
type holding interface {
	Holds(n *lab.Node, a netip.Addr) bool
}

// VRRPd runs FRR's zebra and vrrpd with VRRPv3, for comparison. It follows no check.
type VRRPd struct{}

func (VRRPd) Name() string { return "FRR vrrpd" }

// Start implements [Product]; the process is vrrpd's.
func (VRRPd) Start(n *lab.Node, s Settings) (_ *lab.Process, err error) {
	defer try.Catch(&err)
	if s.API {
		return nil, fmt.Errorf("trial: %s follows no check", VRRPd{}.Name())
	}
	s.VRID = cmp.Or(s.VRID, vrrpdVRID)
	// Where vrrpd alone was killed its zebra lives.
	try.Get(n.Run("sh", "-c", fmt.Sprintf("[ ! -e %[1]q ] || kill -9 $(cat %[1]q) 2>/dev/null || true", n.Path("frr/zebra.pid"))))
	// A Backup has the addresses as well: without this its other interface answers questions for them.
	try.Get(n.Run("sysctl", "-qw", "net.ipv4.conf.all.arp_ignore=1"))
	return RunFRR(n, Router{Name: "apiserver", Settings: s})
}

const vrrpdVRID = 51

// Holds implements [holding]: a Backup's macvlan interface has the addresses as well, and is down by protodown.
func (VRRPd) Holds(n *lab.Node, a netip.Addr) bool {
	out, err := n.Run("ip", "-brief", "link", "show", "dev", fmt.Sprintf("vrrp%d", vrrpdVRID), "up")
	return err == nil && strings.Contains(out, "LOWER_UP") && n.Holds(a)
}

// UCARP runs Debian's ucarp, for comparison. It follows no check, and knows IPv4 alone. Its scripts bind the address; it announces by itself.
type UCARP struct{}

func (UCARP) Name() string { return "ucarp" }

func (UCARP) Start(n *lab.Node, s Settings) (_ *lab.Process, err error) {
	defer try.Catch(&err)
	if s.API || slices.ContainsFunc(s.Addresses, netip.Addr.Is6) {
		return nil, fmt.Errorf("trial: %s follows no check, and knows IPv4 alone", UCARP{}.Name())
	}
	scripts := map[string]string{"add": "", "del": ""}
	for verb := range scripts {
		var batch strings.Builder
		for _, a := range s.Addresses {
			fmt.Fprintf(&batch, "addr %s %s dev %s\n", verb, prefix(a), n.NICs[0].Name)
		}
		list := try.Get(n.WriteFile("ucarp."+verb+".batch", batch.String(), 0o644))
		scripts[verb] = try.Get(n.WriteFile("ucarp."+verb, fmt.Sprintf("#!/bin/sh\nexec ip -force -batch %q\n", list), 0o755))
	}
	base, skew := advskew(s)
	return n.StartCommand(lab.Command{Name: "ucarp", Args: []string{
		"ucarp", "--interface=" + n.NICs[0].Name, "--srcip=" + n.Address.String(), "--vhid=51", "--pass=secret", "--addr=" + s.Addresses[0].String(),
		"--advbase=" + strconv.Itoa(base), "--advskew=" + strconv.Itoa(skew), "--upscript=" + scripts["add"], "--downscript=" + scripts["del"], "--preempt", "--shutdown",
	}})
}

// advskew is the interval as ucarp has it: seconds, one at least (with none it goes back and forth), and 256ths of a second. The best rank has the least.
func advskew(s Settings) (base, skew int) {
	return max(int(s.Interval/time.Second), 1), (255 - s.Priority) / 10
}

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
