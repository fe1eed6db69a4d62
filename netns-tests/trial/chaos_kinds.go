package trial

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// chaosKind is a kind of injection, and what it may cost.
type chaosKind struct {
	name   string
	weight int
	begin  func(c *Chaos, n *chaosNode, i Injection) error // nil: the fault of a node that has the name
	end    func(c *Chaos, n *chaosNode, i Injection) error // nil: over at once
	// vrrp and raft are for how long an address may be silent that the node holds; others are the same for one that it does not.
	vrrp, raft, others time.Duration
	// second is what the other family of a dual-stack entry may be silent that the node holds; 0: the same as the first.
	second time.Duration
	// two tells that both halves of a link may have a holder of VRRP, until the link is whole again (docs/fence.md).
	two bool
	// heals tells that the node may hold the address all the time and answer nobody, so that two may have it from the end until it has heard the
	// other one (docs/protocol.md).
	heals bool
	// away tells that nobody reaches the node: what it says of itself cannot be compared with anything.
	away bool
	// adverts and words are the ways on which advertisements and members' messages of the node are lost; nil: they are not.
	adverts, words *lab.Direction
}

const (
	planned  = 20 * time.Millisecond   // an address that is passed on is not silent (docs/failure-modes.md); what a busy machine adds comes on top
	takeover = 400 * time.Millisecond  // an Active_Down_Interval at 100 ms (361 ms), the tie-break delay of equals (12 ms), binding and announcing
	elected  = 1500 * time.Millisecond // raft, as long as there is a majority: a heartbeatTimeout of 500 ms, and one more each time that two stand at once
	raftPass = 100 * time.Millisecond  // leadership is passed on: 12 to 42 ms (docs/measurements.md), with synced writes of two disks
)

// both and round are how long two may answer when an address is passed on: the former holder serves it until it has heard that the next one has
// announced it (docs/protocol.md). Only one of them answers ARP and neighbour discovery, and by Raft one gives the address up before
// the other may have it: then it is a round of questions, in which one answers at the beginning and the other at the end.
const (
	both  = 60 * time.Millisecond
	round = 10 * time.Millisecond
)

// healed is how long two may answer after a link is whole again: until one has heard the other's next advertisement (docs/fence.md), and
// has let go.
const healed = 100*time.Millisecond + both

// chaosKinds are all kinds.
func chaosKinds() []chaosKind {
	kinds := chaosRows()
	for i, k := range kinds {
		if k.begin == nil {
			kinds[i].begin, kinds[i].end = ofNode(nodeFaultOf(k.name))
		}
	}
	return kinds
}

// chaosRows are their rows.
func chaosRows() []chaosKind {
	lose := func(direction lab.Direction, matches ...string) func(*Chaos, *chaosNode, Injection) error {
		return func(_ *Chaos, n *chaosNode, _ Injection) error { return n.LoseAll(direction, matches...) }
	}
	found := func(_ *Chaos, n *chaosNode, _ Injection) error { return n.LoseNothing() }
	const vrrp, said, called = "meta l4proto 112", "meta l4proto udp th dport 9646", "meta l4proto tcp th dport 9646"
	const answered = "meta l4proto tcp th sport 9646"
	kinds := []chaosKind{
		{name: "reload", weight: 14, begin: (*Chaos).reload, end: (*Chaos).reloadBack, vrrp: planned, raft: raftPass, others: planned},
		{name: "invalid reload", weight: 5, begin: (*Chaos).reloadInvalid, vrrp: planned, raft: planned, others: planned},
		{name: "handover", weight: 6, begin: verb("handover"), vrrp: planned, raft: raftPass, others: planned},
		{name: "drain", weight: 4, begin: verb("drain"), end: verb("resume"), vrrp: planned, raft: raftPass, others: planned},
		{name: "hold", weight: 4, begin: verb("hold"), end: verb("resume"), vrrp: planned, raft: raftPass, others: planned},
		{name: "SIGTERM", weight: 5, begin: terminateDaemon, end: (*Chaos).startAgain, vrrp: planned, raft: raftPass, others: planned},
		{name: "kill -9", weight: 8, begin: killDaemon, end: (*Chaos).startAgain, vrrp: takeover, raft: elected, others: planned},
		{name: "SIGSTOP", weight: 8, begin: stopDaemon, end: continueDaemon, vrrp: takeover, raft: elected, others: planned},
		{name: "second process", weight: 4, begin: (*Chaos).second, vrrp: planned, raft: planned, others: planned},
		{name: "cleanup beside", weight: 2, begin: (*Chaos).cleanup, vrrp: planned, raft: planned, others: planned},
		{name: "clock step", weight: 4, begin: stepClock, end: stepBack, vrrp: planned, raft: planned, others: planned},
		{name: "cable", weight: 6, vrrp: takeover, raft: elected, others: planned, away: true},
		{name: "link down", weight: 4, vrrp: takeover, raft: elected, others: planned, away: true},
		{name: "port cut", weight: 5, vrrp: takeover, raft: elected, others: planned, two: true, away: true},
		{name: "members cut off", weight: 4, begin: lose(lab.Both, vrrp, said, called, answered), end: found, vrrp: takeover, raft: elected, others: planned, two: true},
	}
	for _, way := range []struct {
		name      string
		direction lab.Direction
	}{{"in and out", lab.Both}, {"in", lab.In}, {"out", lab.Out}} {
		kinds = append(
			kinds,
			chaosKind{name: "112 lost, " + way.name, weight: 3, begin: lose(way.direction, vrrp), end: found, vrrp: takeover, raft: planned, others: takeover, adverts: &way.direction},
			chaosKind{name: "UDP 9646 lost, " + way.name, weight: 2, begin: lose(way.direction, said), end: found, vrrp: planned, raft: planned, others: planned, words: &way.direction},
			chaosKind{name: "TCP 9646 lost, " + way.name, weight: 2, begin: lose(way.direction, called, answered), end: found, vrrp: planned, raft: elected, others: planned},
		)
	}
	return append(kinds, chaosHostKinds()...)
}

// ofNode has a fault of a node as the soak calls it.
func ofNode(f nodeFault) (begin, end func(*Chaos, *chaosNode, Injection) error) {
	begin = func(_ *Chaos, n *chaosNode, _ Injection) error { return f.begin(n.Node) }
	if f.undo != nil {
		end = func(_ *Chaos, n *chaosNode, _ Injection) error { return f.undo(n.Node) }
	}
	return begin, end
}

func chaosKindOf(name string) chaosKind {
	for _, k := range chaosKinds() {
		if k.name == name {
			return k
		}
	}
	return chaosKind{name: name}
}

// verb runs a command for one entry, whose exit status may be 0 or say that nobody could take the address.
func verb(args ...string) func(*Chaos, *chaosNode, Injection) error {
	return func(c *Chaos, n *chaosNode, i Injection) error {
		code, said, err := c.command(n, append(args, c.entries[i.Entry].name)...)
		if err != nil || code == 0 || code == 1 && args[0] == "handover" || code == 3 || code == 4 {
			return err
		}
		return fmt.Errorf("keepvip %v on %s: exit status %d: %s", args, n.Label, code, said)
	}
}

func killDaemon(_ *Chaos, n *chaosNode, _ Injection) error { return n.daemon.Kill9() }

func terminateDaemon(_ *Chaos, n *chaosNode, _ Injection) error { return n.daemon.Signal(unix.SIGTERM) }

func stopDaemon(_ *Chaos, n *chaosNode, _ Injection) error { return n.daemon.Stop() }

func continueDaemon(_ *Chaos, n *chaosNode, _ Injection) error { return n.daemon.Cont() }

func (c *Chaos) startAgain(n *chaosNode, _ Injection) (err error) {
	defer try.Catch(&err)
	try.Get(n.daemon.Wait(5 * time.Second))
	return c.start(n)
}

func stepClock(_ *Chaos, n *chaosNode, i Injection) error {
	by := []time.Duration{time.Hour, -time.Hour, 20 * time.Second, -20 * time.Second}[i.Detail%4]
	return n.daemon.StepClock(by)
}

func stepBack(_ *Chaos, n *chaosNode, _ Injection) error { return n.daemon.StepClock(0) }

const (
	// unheard is how long an address may be silent that a deaf node holds: it asks after 400 ms, for 160 ms (docs/protocol.md), and a takeover
	// follows. A Backup that becomes deaf moves nothing.
	unheard = time.Second
	// unbound is how long the other family may be away with a node that has lost it: it is passed on, after the daemon has been told.
	unbound = takeover
	// renewed is how long an address elected with Raft may be silent because of a flush: its lease is renewed by a transaction, which waits for that of the
	// flush, and a kernel with much to do takes a tenth of a second for each.
	renewed = raftPass
	// lame is how long it may be with such a node that was given the address by another fault: a fit one that has had a probe less than 250 ms
	// before asks too late, and then waits a second for whoever was given the address (docs/protocol.md).
	lame = unbound + 1100*time.Millisecond
)

// chaosHostKinds are what happens to the host under the address: its NIC, its own addresses, its tables, its port of the switch.
func chaosHostKinds() []chaosKind {
	return []chaosKind{
		{name: "deaf", weight: 6, vrrp: unheard, raft: elected, others: planned, heals: true},
		{name: "ruleset flushed", weight: 5, vrrp: planned, raft: renewed, others: planned},
		{name: "MAC changed", weight: 5, vrrp: planned, raft: planned, others: planned},
		{name: "own address applied again", weight: 4, vrrp: planned, raft: planned, others: planned},
		{name: "own address away", weight: 3, vrrp: takeover, raft: elected, others: planned},
		{name: "IPv6 off", weight: 5, vrrp: planned, raft: planned, others: planned, second: unbound},
		{name: "port blocked late", weight: 5, begin: (*Chaos).startBlocked, end: opened, vrrp: planned, raft: elected, others: planned, two: true, away: true},
	}
}

// startBlocked ends the daemon and starts it again behind a port that forwards nothing yet, as a switch with spanning tree does to a node that boots.
func (c *Chaos) startBlocked(n *chaosNode, _ Injection) (err error) {
	defer try.Catch(&err)
	try.Do(n.daemon.Signal(unix.SIGTERM))
	try.Get(n.daemon.Wait(5 * time.Second))
	try.Get(n.CutPort())
	return c.start(n)
}

func opened(_ *Chaos, n *chaosNode, _ Injection) error { return try.Err(n.HealPort()) }

// liveKeys are keys that a reload takes over, with values that they may get on one node alone.
func liveKeys() map[string][]string {
	return map[string][]string{
		"key.mode":        {"permissive"},
		"key.window":      {"30s"},
		"addresses":       {`[10.77.0.100, "fd77::100", 10.77.0.103]`, `[10.77.0.100, "fd77::100"]`},
		"group.priority":  {"90", "110"},
		"group.check":     {"tcp://127.0.0.1:1", "tcp://127.0.0.1:9"},
		"onConflict":      {"yield"},
		"probeBeforeBind": {"false"},
		"announce":        {"{refresh: 1s}", "{refresh: 0s}"},
		"group.interval":  {"50ms", "200ms"},
		"preempt":         {"false"},
		"preemptDelay":    {"1s"},
		"startupDelay":    {"1s"},
		"startupInterval": {"1s"},
		"anyAddresses":    {"true"},
		"peers.addresses": {"[10.77.0.101, 10.77.0.103]"},
		"peers.priority":  {"90", "110"},
		"peers.check":     {"tcp://127.0.0.1:1"},
		"peers.interval":  {"50ms", "200ms"},
		"raft.priority":   {"90", "110"},
		"raft.check":      {"tcp://127.0.0.1:1"},
	}
}

// changes is what a reload changes: one key, and sometimes two that are no error together.
func changes(i Injection) map[string]string {
	keys := liveKeys()
	names := slices.Sorted(maps.Keys(keys))
	changed := map[string]string{}
	for n := range 1 + int(i.Detail>>8)%2 {
		name := names[int(i.Detail>>(4*n))%len(names)]
		changed[name] = keys[name][int(i.Detail>>16)%len(keys[name])]
	}
	if changed["addresses"] != "" {
		delete(changed, "peers.addresses") // the same address in both
	}
	if changed["preempt"] != "" {
		delete(changed, "preemptDelay") // a delay of what does not happen
	}
	return changed
}

func (c *Chaos) reload(n *chaosNode, i Injection) (err error) {
	defer try.Catch(&err)
	try.Do(c.configure(n, changes(i)))
	return c.reloaded(n, true)
}

func (c *Chaos) reloadBack(n *chaosNode, _ Injection) (err error) {
	defer try.Catch(&err)
	try.Do(c.configure(n, nil))
	return c.reloaded(n, true)
}

// reloaded asks for the file to be read again, which must succeed or fail.
func (c *Chaos) reloaded(n *chaosNode, good bool) error {
	code, said, err := c.command(n, "reload")
	if err == nil && good != (code == 0) {
		err = fmt.Errorf("keepvip reload on %s: exit status %d: %s", n.Label, code, said)
	}
	return err
}

// badFiles are files that must be refused: what stands in the good one, and what stands there instead, in turns. What would be good
// in one that is refused must not be taken over either, another key above all.
func badFiles(n *chaosNode) [][]string {
	return [][]string{
		{"    id: 51", "    id: 256"},
		{"    id: 52", "    id: 51"},
		{"  addresses: [10.77.0.101]", "  addresses: [10.77.0.100]"},
		{"  addresses: [10.77.0.101]", "  addresses: []"},
		{"  file: ", "  file: /nonexistent/key #"},
		{"  file: " + n.Path("key"), "  file: " + n.Path("key2"), "- name: peers", "- name: group"},
		{"  file: " + n.Path("key"), "  file: " + n.Path("key2"), "  window: 60s", "  accept: [2=/nonexistent/key]"},
		{"  priority: 100", "  priority: 255"},
		{"- name: peers", "- name: group"},
		{"  check: none", "  check: 7"},
		{"  election: raft", "  election: coin"},
		{"raft:", "rafts:"},
	}
}

func (c *Chaos) reloadInvalid(n *chaosNode, i Injection) (err error) {
	defer try.Catch(&err)
	good := try.Get(os.ReadFile(n.Path("keepvip.yaml")))
	all := badFiles(n)
	bad := all[int(i.Detail)%len(all)]
	text := string(good)
	for i := 0; i < len(bad); i += 2 {
		if !strings.Contains(text, bad[i]) {
			return fmt.Errorf("the file has no %q", bad[i])
		}
		text = strings.Replace(text, bad[i], bad[i+1], 1)
	}
	try.Do(os.WriteFile(n.Path("keepvip.yaml"), []byte(text), 0o600))
	failed := c.reloaded(n, false)
	if failed != nil {
		failed = fmt.Errorf("%w: with %q", failed, bad)
	}
	return firstOf(failed, os.WriteFile(n.Path("keepvip.yaml"), good, 0o600))
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// second starts another keepvip in the node's namespace, with files of its own: it must end by itself with an error.
func (c *Chaos) second(n *chaosNode, _ Injection) (err error) {
	defer try.Catch(&err)
	path := try.Get(Binary())
	p := try.Get(n.Start("second", path, "run", "--config", n.Path("keepvip.yaml"), "--socket", n.Path("second/keepvip.sock"), "--state-dir", n.Path("second-state"), "--metrics", "off"))
	code, err := p.Wait(10 * time.Second) // it gives the other some seconds to end
	if err != nil {
		return firstOf(fmt.Errorf("a second keepvip on %s runs", n.Label), p.Kill9())
	}
	if code == 0 {
		return fmt.Errorf("a second keepvip on %s ended with exit status 0: %s", n.Label, p.Log())
	}
	return nil
}

// cleanup runs `keepvip cleanup` beside a keepvip that runs: it must be refused.
func (c *Chaos) cleanup(n *chaosNode, _ Injection) error {
	if !n.daemon.Alive() {
		return nil
	}
	p, code, err := Keepvip{}.Command(n.Node, "cleanup")
	if err == nil && code == 0 {
		err = fmt.Errorf("keepvip cleanup on %s beside a running one: exit status 0: %s", n.Label, p.Log())
	}
	return err
}

// Injection is something that is done to the nodes in an episode. Which node that is depends on who holds what when it begins.
type Injection struct {
	Kind   string
	After  time.Duration // from the episode's begin
	For    time.Duration // until it is undone; some kinds are over at once
	Entry  int           // whose holder the role speaks of
	Role   int           // 0 its holder, 1 and 2 the next nodes
	Detail uint32        // what the kind makes of it
}

// Episode is the injections of one episode: a seed and an index stand for the same ones until there is another kind.
func Episode(seed uint64, index int) []Injection {
	random := rand.New(rand.NewPCG(seed, uint64(index)))
	kinds := chaosKinds()
	weight := 0
	for _, k := range kinds {
		weight += k.weight
	}
	pick := func() string {
		at := random.IntN(weight)
		for _, k := range kinds {
			if at -= k.weight; at < 0 {
				return k.name
			}
		}
		return ""
	}
	count := 1
	if random.IntN(3) == 0 {
		count = 2
	}
	var all []Injection
	for range count {
		all = append(all, Injection{
			Kind: pick(), After: time.Duration(random.IntN(1500)) * time.Millisecond, For: time.Duration(50+random.IntN(4000)) * time.Millisecond,
			Entry: random.IntN(3), Role: random.IntN(3), Detail: random.Uint32(),
		})
	}
	return all
}

// String names the injections of an episode.
func describeEpisode(all []Injection) string {
	parts := make([]string, len(all))
	for i, in := range all {
		parts[i] = in.String()
	}
	return strings.Join(parts, "; ")
}

// String tells what is done to whom.
func (i Injection) String() string {
	entry := [...]string{"group", "peers", "raft"}[i.Entry]
	role := [...]string{"holder of " + entry, "next to " + entry, "third of " + entry}[i.Role]
	return fmt.Sprintf("%s (%s, after %d ms for %d ms, detail %d)", i.Kind, role, i.After.Milliseconds(), i.For.Milliseconds(), i.Detail)
}
