package trial

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// protocol112 is VRRP over both families.
const protocol112 = "meta l4proto 112"

// misconfiguration is something that doctor has to find by its code. It happens on a node of its own, or with its flags alone.
type misconfiguration struct {
	name    string
	want    string // the code
	brief   bool
	plant   func(n *lab.Node) ([]string, error) // with further flags; nil: flags alone
	flags   []string
	nothing bool // but capabilities: doctor has none
}

const (
	// doctorVRID is that of the group whose members doctors listen to.
	doctorVRID = "50"
	// doctorListens is longer than two advertisements and two HELLOs take.
	doctorListens = "2500ms"
	doctorRule    = "table inet kvtest { chain c { type filter hook %s priority 0; %s drop; }; }"
	membersUDP    = "udp dport 9646"
)

// planted are the misconfigurations that a host without a running keepvip can have.
func planted() []misconfiguration {
	const twin = "eth1"
	return []misconfiguration{
		{name: "interface that is not there", want: "KV402", flags: []string{"--interface", "eth9"}},
		{name: "no subnet", want: "KV421", flags: []string{"--vip", "10.99.0.1", "--vrid", "60"}},
		{name: "network address", want: "KV424", flags: []string{"--vip", "10.77.0.0", "--vrid", "60"}},
		{name: "broadcast address", want: "KV424", flags: []string{"--vip", "10.77.0.255", "--vrid", "60"}, brief: true},
		{name: "address of another host", want: "KV301", flags: []string{"--vip", "10.77.0.201", "--vrid", "60"}, brief: true},
		{name: "VRID of another cluster", want: "KV304", flags: []string{"--vip", "10.77.0.150"}},
		{name: "another VRID", want: "KV463", flags: []string{"--vrid", "77"}},
		{name: "another version of VRRP", want: "KV316", flags: []string{"--vrrp-version", "2"}},
		{name: "another interval", want: "KV464", flags: []string{"--advertisement-interval", "2s"}, brief: true},
		{name: "no capability", want: "KV441", nothing: true},
		{name: "key", want: "KV311", plant: func(n *lab.Node) ([]string, error) {
			path, err := n.WriteFile("key", strings.Repeat("5a", 32)+"\n", 0o600)
			return []string{"--key-file", path}, err
		}},
		{name: "controlPlaneEndpoint elsewhere", want: "KV604", plant: func(n *lab.Node) ([]string, error) {
			path, err := n.WriteFile("kubeadm.yaml", "kind: ClusterConfiguration\ncontrolPlaneEndpoint: 10.77.0.99:6443\n", 0o600)
			return []string{"--kubeadm-config", path}, err
		}},
		{name: "certificate without the address", want: "KV601", plant: func(n *lab.Node) ([]string, error) {
			_, err := n.StartAPIServer()
			return []string{"--check", "https://127.0.0.1:6443/livez"}, err
		}},
		{name: "own address", want: "KV422", plant: func(n *lab.Node) ([]string, error) { return []string{"--vip", n.Address.String(), "--vrid", "60"}, nil }},
		{name: "bound by another program", want: "KV423", plant: func(n *lab.Node) ([]string, error) {
			const other = "10.77.0.160"
			return []string{"--vip", other, "--vrid", "60"}, n.AddAddress(netip.MustParsePrefix(other + "/32"))
		}},
		{name: "link down", want: "KV401", plant: func(n *lab.Node) ([]string, error) { return nil, n.LinkDown() }},
		{name: "small MTU", want: "KV425", plant: runs("ip", "link", "set", "eth0", "mtu", "1000")},
		{name: "another MTU", want: "KV469", plant: runs("ip", "link", "set", "eth0", "mtu", "1400")},
		{name: "second link in the subnet", want: "KV426", plant: func(n *lab.Node) ([]string, error) { return nil, n.AddTwin(twin) }},
		{name: "arp_ignore", want: "KV431", plant: sysctl("net/ipv4/conf/eth0/arp_ignore", "8"), brief: true},
		{name: "arp_filter", want: "KV432", plant: sysctl("net/ipv4/conf/eth0/arp_filter", "1")},
		{name: "proxy_arp", want: "KV433", plant: sysctl("net/ipv4/conf/eth0/proxy_arp", "1")},
		{name: "ip_nonlocal_bind", want: "KV435", plant: sysctl("net/ipv4/ip_nonlocal_bind", "1")},
		{name: "IPv6 off", want: "KV436", flags: []string{"--vip", lab.VIP6.String()}, plant: sysctl("net/ipv6/conf/eth0/disable_ipv6", "1")},
		{name: "accept_dad", want: "KV437", flags: []string{"--vip", lab.VIP6.String()}, plant: sysctl("net/ipv6/conf/eth0/accept_dad", "2")},
		{name: "kube-proxy in mode ipvs", want: "KV605", plant: runs("ip", "link", "add", "kube-ipvs0", "type", "veth", "peer", "name", "kv-peer")},
		{name: "TCP 9646 dropped", want: "KV467", plant: votes(func(n *lab.Node) error {
			return try.Err(drops("output", "tcp dport 9646")(n))
		})},
		{name: "no Raft at the other voter", want: "KV468", plant: votes(func(*lab.Node) error { return nil })},
		{name: "112 dropped on its way in, 9646 open", want: "KV451", plant: drops("input", protocol112), brief: true},
		{name: "112 dropped on its way out, 9646 open", want: "KV407", plant: drops("output", protocol112), brief: true},
		{name: "112 dropped on its way out, IPv6 alone", want: "KV407", flags: []string{"--vip", "fd77::150"}, plant: drops("output", protocol112)},
		{name: "9646 dropped on its way in, 112 open", want: "KV452", plant: drops("input", membersUDP), brief: true},
		{name: "9646 dropped on its way out, 112 open", want: "KV453", plant: drops("output", membersUDP), brief: true},
	}
}

func runs(name string, args ...string) func(*lab.Node) ([]string, error) {
	return func(n *lab.Node) ([]string, error) {
		_, err := n.Run(name, args...)
		return nil, err
	}
}

func sysctl(key, value string) func(*lab.Node) ([]string, error) {
	return func(n *lab.Node) ([]string, error) { return nil, n.Sysctl(key, value) }
}

// drops puts a rule into the node's own firewall.
func drops(hook, match string) func(*lab.Node) ([]string, error) {
	return func(n *lab.Node) ([]string, error) {
		_, err := n.RunInput(fmt.Sprintf(doctorRule, hook, match), "nft", "-f", "-")
		return nil, err
	}
}

// votes makes the node a voter of Raft, with the first one of the lab.
func votes(also func(*lab.Node) error) func(*lab.Node) ([]string, error) {
	return func(n *lab.Node) ([]string, error) {
		path, err := n.WriteFile("key", strings.Repeat("5a", 32)+"\n", 0o600)
		peers := []string{"--raft-peer", "10.77.0.11", "--raft-peer", "10.77.0.12", "--raft-peer", n.Address.String()}
		return append(peers, "--vip", "10.77.0.170", "--election", "raft", "--key-file", path), errors.Join(err, also(n))
	}
}

// doctors plants each misconfiguration on a node of one lab, runs doctor everywhere at the same time, and looks for the code.
func doctors(host *lab.Host, full bool) (_ Findings, err error) {
	defer try.Catch(&err)
	faults, ways, meetings := planted(), betweenTwo(), meetings()
	if !full {
		ways, meetings = ways[:2], meetings[:2]
		faults = slices.DeleteFunc(faults, func(m misconfiguration) bool { return !m.brief })
	}
	own := len(slices.DeleteFunc(slices.Clone(faults), func(m misconfiguration) bool { return m.plant == nil }))
	l := try.Get(host.Open(lab.Config{Nodes: 3 + 2*len(ways) + own + 2*len(meetings)}))
	defer l.Close()
	d := &doctoring{lab: l, ways: ways}
	try.Do(d.examine(faults, meetings, own))
	late := none("daemons of which doctor says that they stood still", d.late)
	if !full {
		late.Limit = -1 // it is true of a machine that did: the bench alone knows
	}
	return append(d.found, late, told("the slowest took", d.slowest)), nil
}

// examine plants the faults, and looks for all of them.
func (d *doctoring) examine(faults []misconfiguration, meetings []pairing, own int) (err error) {
	defer try.Catch(&err)
	l, ways := d.lab, d.ways
	pairs, patients := l.Nodes[3:3+2*len(ways)], l.Nodes[3+2*len(ways):]
	try.Do(d.startGroups(l.Nodes[:2], pairs))
	for _, n := range l.Nodes[:3] {
		d.look(n, "good host "+n.Label, "", misconfiguration{})
	}
	d.look(l.Nodes[2], "good host, IPv6 alone", "", misconfiguration{flags: []string{"--vip", "fd77::150"}})
	d.look(l.Nodes[2], "good host, unicast beside routers that multicast", "", misconfiguration{flags: []string{
		"--vip", "10.77.0.171", "--vrid", "61", "--peer", l.Nodes[0].Address.String(), "--peer", l.Nodes[2].Address.String(),
	}})
	for i, w := range ways {
		for j, want := range []string{w.holder, w.other} {
			n := pairs[2*i+j]
			flags := try.Get(w.flags(i, j, n))
			d.look(n, w.name+", at the "+[]string{"holder", "other"}[j], want, misconfiguration{flags: flags})
		}
	}
	for i, w := range meetings {
		n := 3 + 2*len(ways) + own + 2*i
		try.Do(d.meet(len(ways)+i, w, l.Nodes[n:n+2]))
	}
	for _, m := range faults {
		n := l.Nodes[2]
		if m.plant != nil {
			n, patients = patients[0], patients[1:]
			more, err := m.plant(n)
			if err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			m.flags = append(slices.Clone(m.flags), more...)
		}
		d.look(n, m.name, m.want, m)
	}
	d.wg.Wait()
	return errors.Join(d.errs...)
}

// doctoring runs doctors side by side.
type doctoring struct {
	lab  *lab.Lab
	ways []pairing
	wg   sync.WaitGroup

	mu      sync.Mutex // guards what follows
	found   Findings
	late    int // how often doctor has said that a daemon stood still
	slowest time.Duration
	errs    []error
}

// flags are those of every keepvip here, and of every doctor, but for what is given again.
func (d *doctoring) flags(n *lab.Node, given []string) []string {
	var out []string
	for _, f := range [][2]string{
		{"--vip", lab.VIP4.String()}, {"--vrid", doctorVRID}, {"--interface", "eth0"}, {"--check", "none"}, {"--advertisement-interval", "1s"},
	} {
		again := slices.Index(given, f[0])
		if (f[0] == "--vrid" || f[0] == "--advertisement-interval") && slices.Contains(given, "--election") {
			continue // Raft has neither
		}
		if again < 0 || f[0] == "--vip" && given[again+1] == lab.VIP6.String() { // a second address
			out = append(out, f[0], f[1])
		}
	}
	return append(out, given...)
}

// look runs doctor on a node. It has to find the code, and nothing else.
func (d *doctoring) look(n *lab.Node, name, want string, m misconfiguration) {
	d.wg.Go(func() {
		codes, took, err := doctorOn(n, "doctor "+strings.ReplaceAll(name, "/", " "), d.flags(n, m.flags), m.nothing)
		d.mu.Lock()
		defer d.mu.Unlock()
		if err != nil {
			d.errs = append(d.errs, fmt.Errorf("%s: %w", name, err))
			return
		}
		missing := count(want != "" && !slices.Contains(codes, want))
		if want != stoodStillCode && slices.Contains(codes, stoodStillCode) {
			d.late++ // which is true where the machine did
		}
		others := slices.DeleteFunc(slices.Clone(codes), func(c string) bool { return c == want || c == stoodStillCode })
		what := name + ": without " + want
		if len(others) > 0 {
			what += ", and with " + strings.Join(others, " ")
		}
		d.found, d.slowest = append(d.found, none(what, missing+len(others))), max(d.slowest, took)
	})
}

// stoodStillCode is what doctor says of a daemon that the machine kept waiting.
const stoodStillCode = "KV409"

// doctorOn is the codes that doctor finds on a node. The name is that of its log files.
func doctorOn(n *lab.Node, name string, flags []string, powerless bool) (codes []string, took time.Duration, err error) {
	defer try.Catch(&err)
	args := append([]string{try.Get(Binary()), "doctor", "-o", "json", "--listen", doctorListens, "--socket", Socket(n)}, flags...)
	command := lab.Command{Name: name, Args: args}
	if powerless {
		command.Capabilities = []string{}
	}
	began := time.Now()
	p := try.Get(n.StartCommand(command))
	try.Get(p.Wait(20 * time.Second))
	took = time.Since(began)
	var doc struct {
		Findings []struct {
			Code string `json:"code"`
		} `json:"findings"`
	}
	if err := json.Unmarshal([]byte(p.Stdout()), &doc); err != nil {
		return nil, 0, fmt.Errorf("doctor on %s: %w: %s", n.Label, err, p.Stderr())
	}
	for _, f := range doc.Findings {
		codes = append(codes, f.Code)
	}
	return codes, took, nil
}

// pairing is what is wrong between two nodes that both run keepvip, and what doctor finds on each of them: on the one of the higher
// priority, which holds the address, and on the other one. The first two are the worst firewalls.
type pairing struct {
	name          string
	holder, other string        // the codes; "": nothing
	lost          string        // on the way from the holder to the other
	keys          [2]string     // what the keys are made of
	ahead         time.Duration // the clock of the holder's keepvip, in whole seconds
}

func betweenTwo() []pairing {
	return []pairing{
		{name: "112 lost on the way, 9646 passes", lost: protocol112, holder: "KV455", other: "KV454"},
		{name: "9646 lost on the way, 112 passes", lost: membersUDP, holder: "KV457", other: "KV456"},
		{name: "two keys", keys: [2]string{"5a", "a5"}, holder: "KV310", other: "KV310"},
		// Doctor has the machine's clock, also at the holder: what it hears there is that the other refuses everything.
		{name: "clocks apart", keys: [2]string{"5a", "5a"}, ahead: 100 * time.Second, holder: "KV457", other: "KV313"},
	}
}

// meetings are two nodes on which doctor runs at the same time, and no keepvip: what is lost on the way from the first to the second.
func meetings() []pairing {
	return []pairing{
		{name: "doctors, 112 lost on the way", lost: protocol112, holder: "KV455", other: "KV454"},
		{name: "doctors, 9646 lost on the way", lost: membersUDP, holder: "KV457", other: "KV456"},
		{name: "doctors, nothing lost, a key", keys: [2]string{"5a", "5a"}},
		{name: "doctors with two keys", keys: [2]string{"5a", "a5"}, holder: "KV310", other: "KV310"},
	}
}

// meet runs doctor on both nodes of pair i.
func (d *doctoring) meet(i int, w pairing, pair []*lab.Node) (err error) {
	defer try.Catch(&err)
	if w.lost != "" {
		try.Do(pair[1].Lose(w.lost, 100, lab.In))
	}
	for j, want := range []string{w.holder, w.other} {
		flags := try.Get(w.flags(i, j, pair[j]))
		flags = append(flags, "--peers", pair[0].Address.String()+","+pair[1].Address.String())
		d.look(pair[j], w.name+", on the "+[]string{"first", "second"}[j], want, misconfiguration{flags: flags})
	}
	return nil
}

// flags are those of a node of pair i, which has an address of its own.
func (b pairing) flags(i, j int, n *lab.Node) ([]string, error) {
	out := []string{"--vip", pairAddress(i).String(), "--vrid", fmt.Sprint(110 + i)}
	if b.keys[j] == "" {
		return out, nil
	}
	path, err := n.WriteFile("key", strings.Repeat(b.keys[j], 32)+"\n", 0o600)
	return append(out, "--key-file", path), err
}

func pairAddress(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 77, 0, byte(110 + i)}) }

// startGroups starts two nodes that agree, and the pairs.
func (d *doctoring) startGroups(good, pairs []*lab.Node) (err error) {
	defer try.Catch(&err)
	for i, n := range good {
		try.Get((Keepvip{}).Run(n, d.flags(n, []string{"--priority", fmt.Sprint(200 - 100*i)})...))
	}
	for i, w := range d.ways {
		if err := d.startPair(i, w, pairs[2*i:2*i+2]); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	_, err = until(SettleLimit, "the group has a holder, and so has each pair", func() bool {
		settled := good[0].Holds(lab.VIP4)
		for i := range d.ways {
			settled = settled && pairs[2*i].Holds(pairAddress(i))
		}
		return settled
	})
	time.Sleep(time.Second) // a HELLO of each
	return err
}

func (d *doctoring) startPair(i int, w pairing, pair []*lab.Node) (err error) {
	defer try.Catch(&err)
	if w.lost != "" {
		try.Do(pair[1].Lose(w.lost, 100, lab.In))
	}
	for j, n := range pair {
		flags := try.Get(w.flags(i, j, n))
		k := Keepvip{}
		if w.ahead > 0 && j == 0 {
			k.Ahead = make([]time.Duration, n.ID)
			k.Ahead[n.ID-1] = w.ahead
		}
		try.Get(k.Run(n, d.flags(n, append(flags, "--priority", fmt.Sprint(200-100*j)))...))
	}
	return nil
}
