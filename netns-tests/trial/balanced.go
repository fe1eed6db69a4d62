package trial

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// Balanced is a cluster of three nodes, with an apiserver on each, and a host where HAProxy may balance over them. Its clients connect to
// lab.VIP4 or to the balancer.
type Balanced struct {
	*Group
	Balancer *lab.Node
	Members  []*lab.Node
	Proxy    *lab.Process // nil until Balance
	Same     bool         // the balancer has the virtual address
	Raft     bool         // the nodes elect by Raft
}

// The ports of a Balanced.
const (
	balancerPort = 7443
	healthPort   = 9647
)

// OpenBalanced opens one. No keepvip and no balancer runs.
func OpenBalanced(host *lab.Host, interval time.Duration) (_ *Balanced, err error) {
	defer try.Catch(&err)
	g := try.Get(Prepare(host, Config{Interval: interval, Lab: lab.Config{Nodes: 4}}))
	b := &Balanced{Group: g, Balancer: g.Lab.Nodes[3], Members: g.Lab.Nodes[:3]}
	for _, n := range b.Members {
		if _, err := n.StartAPIServer(); err != nil {
			g.Close()
			return nil, err
		}
	}
	return b, nil
}

// External is where the balancer answers.
func (b *Balanced) External() netip.AddrPort {
	if b.Same {
		return b.Internal()
	}
	return netip.AddrPortFrom(b.Balancer.Address, balancerPort)
}

// Internal is where the holder answers.
func (b *Balanced) Internal() netip.AddrPort { return netip.AddrPortFrom(lab.VIP4, 6443) }

// Balance starts HAProxy, and returns when it serves. It asks keepvip how each node is, or with apiservers true the apiservers themselves.
func (b *Balanced) Balance(apiservers bool) (err error) {
	defer try.Catch(&err)
	var conf strings.Builder
	fmt.Fprintf(&conf, "defaults\n  mode tcp\n  timeout connect 1s\n  timeout client 10s\n  timeout server 10s\n  timeout check 1s\n"+
		"frontend clients\n  bind %s\n  default_backend apiservers\nbackend apiservers\n", b.External())
	if apiservers {
		conf.WriteString("  option httpchk GET /readyz\n  default-server check check-ssl verify none inter 200ms fall 2 rise 1\n")
	} else {
		fmt.Fprintf(&conf, "  option httpchk GET /healthz/apiserver\n  default-server check port %d inter 200ms fall 2 rise 1\n", healthPort)
	}
	for _, n := range b.Members {
		fmt.Fprintf(&conf, "  server %s %s:6443\n", n.Label, n.Address)
	}
	b.Proxy = try.Get(b.Balancer.Start("haproxy", "haproxy", "-db", "-f", try.Get(b.Balancer.WriteFile("haproxy.cfg", conf.String(), 0o644))))
	if err = within(10*time.Second, "HAProxy serves", func() bool { return b.Lab.Answers(b.Lab.Client.Namespace, b.External()) }); err != nil {
		err = fmt.Errorf("%w: %s", err, b.Proxy.Log())
	}
	return err
}

// Configure writes the configuration of a node; mode "" is for one that knows nothing of balancers, and of a health listener.
func (b *Balanced) Configure(n *lab.Node, mode string, grace time.Duration) (path string, err error) {
	defer try.Catch(&err)
	text := fmt.Sprintf("apiVersion: keepvip/v1\nkind: Config\nvips:\n- name: apiserver\n  addresses: [%s]\n", lab.VIP4)
	if mode != "" {
		text += fmt.Sprintf("  mode: %s\n  externalAddress: %s\n  externalGrace: %s\nhealth: 0.0.0.0:%d\n", mode, b.External(), grace, healthPort)
	}
	if b.Raft {
		key := try.Get(n.WriteFile("key", strings.Repeat("0123456789abcdef", 4)+"\n", 0o600))
		text = strings.Replace(text, "- name: apiserver\n", "- name: apiserver\n  election: raft\n", 1)
		text += fmt.Sprintf("key: {file: %s}\nraft: {peers: [%s]}\n", key, addressesOf(len(b.Members)))
	}
	return n.WriteFile("keepvip.yaml", text, 0o644)
}

// Install writes the configuration of each node, and starts keepvip there.
func (b *Balanced) Install(mode string, grace time.Duration) (err error) {
	defer try.Catch(&err)
	for _, n := range b.Members {
		b.Daemons[n.ID-1] = try.Get((Keepvip{}).Run(n, "--config", try.Get(b.Configure(n, mode, grace))))
	}
	return nil
}

// Change has one node after the other go over to a mode, by a reload.
func (b *Balanced) Change(mode string, grace time.Duration) (err error) {
	defer try.Catch(&err)
	for _, n := range b.Members {
		try.Get(b.Configure(n, mode, grace))
		try.Get(b.Say(n, "reload"))
	}
	return nil
}

// Say runs a command of keepvip that asks the running one, and returns what it prints.
func (b *Balanced) Say(n *lab.Node, args ...string) (string, error) { return Keepvip{}.Ask(n, args...) }

// Endpoint is where the running keepvip of a node sends clients.
func (b *Balanced) Endpoint(n *lab.Node) (_ netip.AddrPort, err error) {
	defer try.Catch(&err)
	return netip.ParseAddrPort(try.Get(b.Say(n, "endpoint", "--running")))
}

// Healthz is the status with which a node answers a balancer, and what it says; 0 for no answer.
func (b *Balanced) Healthz(n *lab.Node) (code int, text string) {
	out, err := b.Balancer.Run("curl", "-s", "-m", "5", "-w", "%{http_code}", fmt.Sprintf("http://%s:%d/healthz/apiserver", n.Address, healthPort))
	if err != nil || len(out) < 3 {
		return 0, out
	}
	_, _ = fmt.Sscan(out[len(out)-3:], &code)
	return code, strings.TrimSpace(out[:len(out)-3])
}

// BoundAnywhere names the nodes that have the virtual address.
func (b *Balanced) BoundAnywhere() []string {
	var out []string
	for _, n := range b.Members {
		if n.Holds(lab.VIP4) {
			out = append(out, n.Label)
		}
	}
	return out
}
