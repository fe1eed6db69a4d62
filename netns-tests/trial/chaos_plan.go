package trial

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

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
