package trial

import (
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/members/envelope"
	"github.com/keepvip/keepvip/members/pulse"
)

// Fast is keepvip with `vrrp.detector: fast`.
func Fast(more ...string) Keepvip {
	return Keepvip{Args: append([]string{"--detector", "fast"}, more...)}
}

// strangersWords are beats, questions and words in the names of all nodes, by somebody who has no key: that the holder is there, and that it is gone.
func strangersWords(g *Group) [][]byte {
	var frames [][]byte
	for i := range 300 {
		for _, from := range g.Lab.Nodes {
			about := g.Lab.Nodes[i%len(g.Lab.Nodes)].Address
			var m pulse.Message
			switch i / 100 {
			case 0:
				m = pulse.Message{Type: pulse.Word, Session: uint64(from.ID), About: about}
			case 1:
				m = pulse.Message{Type: pulse.Ask, Session: uint64(from.ID), About: about}
			default:
				m = pulse.Message{Type: pulse.Beat, Session: uint64(i), Number: uint32(i), Every: pulse.Every, Last: i%2 == 0}
			}
			b := m.Append(nil, uint64(time.Now().UnixNano())+uint64(i))
			frames = append(frames, g.Lab.Client.ForgeUDP(netip.AddrPortFrom(from.Address, envelope.SourcePort), membersPort, b))
		}
	}
	return frames
}
