package trial

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// Chaos is three nodes with three virtual addresses, to which everything happens: one elected by VRRP to the group, in dual
// stack, one by VRRP to peers, one by Raft.
type Chaos struct {
	Seed uint64

	lab     *lab.Lab
	nodes   []*chaosNode
	entries []chaosEntry
	watch   *statusWatch
}

// chaosEntry is an entry under vips.
type chaosEntry struct {
	name      string
	addresses []netip.Addr
	raft      bool
}

// chaosNode is a node, and what its file says beyond the base.
type chaosNode struct {
	*lab.Node
	daemon *lab.Process
	costs  []chaosCost // of this daemon, since it started
	before chaosUsed   // likewise, when the episode or the daemon began
}

// The entries, by index.
const (
	chaosGroup = iota
	chaosPeers
	chaosRaft
)

var (
	chaosPeersVIP = netip.MustParseAddr("10.77.0.101")
	chaosRaftVIP  = netip.MustParseAddr("10.77.0.102")
)

// OpenChaos starts everything and waits until each address has a holder.
func OpenChaos(host *lab.Host, seed uint64) (_ *Chaos, err error) {
	defer try.Catch(&err)
	l := try.Get(host.Open(lab.Config{}))
	c := &Chaos{Seed: seed, lab: l, entries: []chaosEntry{
		chaosGroup: {name: "group", addresses: []netip.Addr{lab.VIP4, lab.VIP6}},
		chaosPeers: {name: "peers", addresses: []netip.Addr{chaosPeersVIP}},
		chaosRaft:  {name: "raft", addresses: []netip.Addr{chaosRaftVIP}, raft: true},
	}}
	for _, n := range l.Nodes {
		c.nodes = append(c.nodes, &chaosNode{Node: n})
	}
	if err := c.begin(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Chaos) begin() (err error) {
	defer try.Catch(&err)
	for _, n := range c.nodes {
		try.Get(n.WriteFile("key", strings.Repeat("0123456789abcdef", 4)+"\n", 0o600))
		try.Get(n.WriteFile("key2", strings.Repeat("fedcba9876543210", 4)+"\n", 0o600))
		try.Do(c.configure(n, nil))
		try.Do(c.start(n))
	}
	c.watch = watchStatus(c)
	return c.whole(SettleLimit)
}

// Close removes the lab.
func (c *Chaos) Close() {
	if c.watch != nil {
		c.watch.stop()
	}
	c.lab.Close()
}

// chaosFile is every node's file. A line that a reload may change ends in the name of its key.
const chaosFile = `apiVersion: keepvip/v1
kind: Config
key:
  file: %[1]s # key.file
  mode: enforce # key.mode
  window: 60s # key.window
raft:
  peers: [10.77.0.11, 10.77.0.12, 10.77.0.13]
vips:
- name: group
  addresses: [10.77.0.100, "fd77::100"] # addresses
  interface: eth0
  priority: 100 # group.priority
  check: none # group.check
  onConflict: defend # onConflict
  probeBeforeBind: true # probeBeforeBind
  announce: {refresh: 60s} # announce
  vrrp:
    id: 51
    advertisementInterval: 100ms # group.interval
    preempt: true # preempt
    preemptDelay: 0s # preemptDelay
    startupDelay: 0s # startupDelay
    startupInterval: 0s # startupInterval
    anyAddresses: false # anyAddresses
- name: peers
  addresses: [10.77.0.101] # peers.addresses
  interface: eth0
  priority: 100 # peers.priority
  check: none # peers.check
  vrrp:
    id: 52
    peers: [10.77.0.11, 10.77.0.12, 10.77.0.13]
    advertisementInterval: 100ms # peers.interval
- name: raft
  addresses: [10.77.0.102]
  interface: eth0
  election: raft
  priority: 100 # raft.priority
  check: none # raft.check
`

// configure writes the node's file, with other values for some keys.
func (c *Chaos) configure(n *chaosNode, changed map[string]string) error {
	var b strings.Builder
	for line := range strings.Lines(fmt.Sprintf(chaosFile, n.Path("key"))) {
		if text, key, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " # "); ok {
			if value, other := changed[key]; other {
				name, _, _ := strings.Cut(text, ":")
				line = name + ": " + value + "\n"
			}
		}
		b.WriteString(line)
	}
	return os.WriteFile(n.Path("keepvip.yaml"), []byte(b.String()), 0o600)
}

func (c *Chaos) start(n *chaosNode) (err error) {
	defer try.Catch(&err)
	// Clocks of their own, so that they can be stepped.
	p := try.Get(Keepvip{Ahead: make([]time.Duration, len(c.nodes))}.Run(n.Node, "--config", n.Path("keepvip.yaml")))
	n.daemon, n.costs, n.before = p, nil, chaosUsed{at: c.lab.Now()}
	return nil
}

// command runs a keepvip command on the node, and returns its exit status and what it said.
func (c *Chaos) command(n *chaosNode, args ...string) (_ int, _ string, err error) {
	defer try.Catch(&err)
	p, code := try.Two(Keepvip{}.Command(n.Node, append(args, "--socket", Socket(n.Node))...))
	return code, strings.TrimSpace(p.Log()), nil
}

// holder is the node that has the entry's first address, nil if none or more than one has.
func (c *Chaos) holder(entry int) *chaosNode {
	var found *chaosNode
	for _, n := range c.nodes {
		if n.Holds(c.entries[entry].addresses[0]) {
			if found != nil {
				return nil
			}
			found = n
		}
	}
	return found
}

// whole waits until every daemon runs and every address has been held by one node, the same for half a second, that answers.
func (c *Chaos) whole(limit time.Duration) error {
	held := make([]*chaosNode, len(c.entries))
	since := time.Now()
	var last error
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		last = nil
		for i, e := range c.entries {
			h := c.holder(i)
			if h == nil || h != held[i] {
				held[i], since = h, time.Now()
			}
			if h == nil {
				last = fmt.Errorf("trial: chaos: %s has no holder, or two", e.name)
			}
		}
		if last == nil && time.Since(since) > 500*time.Millisecond {
			if last = c.answered(); last == nil {
				return nil
			}
		}
	}
	return fmt.Errorf("not whole after %v: %w\n%s", limit, last, c.describe())
}

func (c *Chaos) answered() error {
	for _, e := range c.entries {
		for _, a := range e.addresses {
			if !c.lab.Reaches(c.lab.Client.Namespace, a, time.Second) {
				return fmt.Errorf("trial: chaos: nobody answers at %s", a)
			}
		}
	}
	return nil
}

// describe is what the nodes have, for a failure.
func (c *Chaos) describe() string {
	var b strings.Builder
	for _, n := range c.nodes {
		byLink, _ := n.Addresses()
		fmt.Fprintf(&b, "%s alive=%v %v\n", n.Label, n.daemon.Alive(), byLink)
	}
	return b.String()
}

// Logs are the last lines of every daemon.
func (c *Chaos) Logs(lines int) string {
	var b strings.Builder
	for _, n := range c.nodes {
		all := strings.Split(strings.TrimSpace(n.daemon.Log()), "\n")
		fmt.Fprintf(&b, "--- %s\n%s\n", n.Label, strings.Join(all[max(0, len(all)-lines):], "\n"))
	}
	return b.String()
}

func (c *Chaos) addresses() []netip.Addr {
	var all []netip.Addr
	for _, e := range c.entries {
		all = append(all, e.addresses...)
	}
	return all
}
