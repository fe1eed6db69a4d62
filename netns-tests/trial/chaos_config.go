package trial

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/try"
)

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
	return errors.Join(failed, os.WriteFile(n.Path("keepvip.yaml"), good, 0o600))
}

// second starts another keepvip in the node's namespace, with files of its own: it must end by itself with an error.
func (c *Chaos) second(n *chaosNode, _ Injection) (err error) {
	defer try.Catch(&err)
	path := try.Get(Binary())
	p := try.Get(n.Start("second", path, "run", "--config", n.Path("keepvip.yaml"), "--socket", n.Path("second/keepvip.sock"), "--state-dir", n.Path("second-state"), "--metrics", "off"))
	code, err := p.Wait(10 * time.Second) // it gives the other some seconds to end
	if err != nil {
		return errors.Join(fmt.Errorf("a second keepvip on %s runs", n.Label), p.Kill9())
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

// describeEpisode names the injections of an episode.
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
