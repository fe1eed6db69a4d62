package trial

import (
	"net/netip"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// Keyed is keepvip with one shared key on all nodes.
type Keyed struct {
	Ahead []time.Duration // as in [Keepvip]
	Args  []string        // as there
}

func (Keyed) Name() string { return "keepvip" }

func (k Keyed) Start(n *lab.Node, s Settings) (_ *lab.Process, err error) {
	defer try.Catch(&err)
	path := try.Get(n.WriteFile("key", strings.Repeat("0123456789abcdef", 4)+"\n", 0o600))
	return Keepvip{Args: append([]string{"--key-file", path}, k.Args...), Ahead: k.Ahead}.Start(n, s)
}

// What an attacker on the link can send who has not the key.
const (
	ForgedOwner  = "forged priority 255"
	ForgedGiveUp = "forged priority 0"
	Replayed     = "replayed advertisements"
)

// Attacks are all of them.
func Attacks() []string { return []string{ForgedOwner, ForgedGiveUp, Replayed} }

// Attack sends forgeries, or advertisements that were captured before, a
// thousand in a second.
func Attack(kind string, length time.Duration) Fault {
	return func(g *Group) (_ *Result, err error) {
		defer try.Catch(&err)
		return g.flood(kind, try.Get(g.ammunition(kind)), 1000, length)
	}
}

// ammunition makes the frames of an attack. A better router is an attacker or
// another node, giving up is said in the holder's name. Those to replay were all
// valid once: the holder's, its priority 0 as it left, and the next holder's.
func (g *Group) ammunition(kind string) (_ [][]byte, err error) {
	defer try.Catch(&err)
	holder := try.Get(g.Settle())
	f := lab.Forgery{
		Version: 3, VRID: g.Settings[0].VRID, Priority: 255, Interval: g.Settings[0].Interval, Addresses: g.Addresses[:1],
	}
	switch kind {
	case ForgedOwner:
		other := g.Lab.Nodes[holder.ID%len(g.Lab.Nodes)]
		return [][]byte{forgeFrom(g, f, g.Lab.Client.Address), forgeFrom(g, f, other.Address)}, nil
	case ForgedGiveUp:
		f.Priority = 0
		return [][]byte{forgeFrom(g, f, holder.Address)}, nil
	}
	recording := try.Get(g.Lab.Record())
	_, err = Terminated(g)
	var frames [][]byte
	for _, f := range recording.Stop() {
		// A frame with a node's MAC would move that node at the switch: another attack.
		copy(f.Data[6:12], g.Lab.Client.MAC)
		frames = append(frames, f.Data)
	}
	return frames, err
}

func forgeFrom(g *Group, f lab.Forgery, source netip.Addr) []byte {
	f.Source = source
	return g.Lab.Client.Forge(f)
}
