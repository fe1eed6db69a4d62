package trial

import (
	"bytes"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// Invented is what a flood of advertisements of ever new routers has brought about.
type Invented struct {
	Sent  int
	Lines int     // most that one node has logged meanwhile
	ARP   int     // most frames that one node has sent
	CPU   float64 // percent of one processor, of the busiest
	RSS   int64   // bytes, the most
}

// FloodInvented sends advertisements of a thousand routers that do not exist, 500 in a second.
func FloodInvented(g *Group, length time.Duration) (_ Invented, err error) {
	defer try.Catch(&err)
	var frames [][]byte
	for i := range 1000 {
		frames = append(frames, g.Lab.Client.Forge(lab.Forgery{
			Source:  netip.AddrFrom4([4]byte{10, 77, byte(4 + i>>8), byte(i)}),
			Version: 3, VRID: g.Settings[0].VRID, Priority: 100 + i%156, Interval: g.Settings[0].Interval, Addresses: g.Addresses[:1],
		}))
	}
	recording := try.Get(g.Lab.RecordARP())
	lines := g.lines()
	flood, err := g.Lab.Flood(g.Lab.Client, frames, 500)
	if err != nil {
		recording.Stop()
		return Invented{}, err
	}
	sent := Invented{CPU: g.busiest(length)}
	sent.Sent = flood.Stop()
	arp := map[int]int{}
	for _, f := range recording.Stop() {
		arp[f.Node]++
	}
	for i, p := range g.Daemons {
		rss, _ := p.RSS()
		sent.RSS = max(sent.RSS, rss)
		sent.Lines = max(sent.Lines, g.lines()[i]-lines[i])
		sent.ARP = max(sent.ARP, arp[g.Lab.Nodes[i].ID])
	}
	return sent, nil
}

// lines is how much every daemon has logged so far.
func (g *Group) lines() []int {
	n := make([]int, len(g.Daemons))
	for i, p := range g.Daemons {
		if p != nil {
			n[i] = bytes.Count([]byte(p.Log()), []byte("\n"))
		}
	}
	return n
}
