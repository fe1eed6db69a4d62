package trial

import (
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// Kinds of junk: packets that a router has to drop, however many there are.
const (
	JunkTTL      = "TTL"
	JunkLength   = "length"
	JunkChecksum = "checksum"
	JunkVersion  = "version"
	JunkList     = "disjoint list" // well made, but of another cluster with the same VRID
	JunkMixed    = "mixed"
)

// JunkKinds are all kinds but the mixture.
func JunkKinds() []string { return []string{JunkTTL, JunkLength, JunkChecksum, JunkVersion, JunkList} }

// junk makes the frames of one kind, with priority 255 and 0 where a router
// that took them for true would give way or take over.
func (g *Group) junk(kind string) [][]byte {
	if kind == JunkMixed {
		var frames [][]byte
		for _, k := range JunkKinds() {
			frames = append(frames, g.junk(k)...)
		}
		return frames
	}
	client := g.Lab.Client
	var frames [][]byte
	for _, priority := range []int{255, 0} {
		f := lab.Forgery{
			Source: client.Address, Version: 3, VRID: g.Settings[0].VRID, Priority: priority,
			Interval: g.Settings[0].Interval, Addresses: g.Addresses[:1],
		}
		switch kind {
		case JunkTTL:
			f.TTL = 254
		case JunkLength:
			f.Cut = 3
		case JunkChecksum:
			f.FlipSum = true
		case JunkVersion:
			f.Version = 4
		case JunkList:
			f.Addresses = []netip.Addr{netip.MustParseAddr("10.77.0.222")}
		}
		frames = append(frames, client.Forge(f))
	}
	return frames
}

// Junk floods the group from the client's host.
func Junk(kind string, perSecond int, length time.Duration) Fault {
	return func(g *Group) (*Result, error) {
		return g.flood("junk: "+kind, g.junk(kind), perSecond, length)
	}
}

// Forged has a stranger on the client's host advertise the address for a while, with the priority that wins against everybody.
func Forged(length time.Duration) Fault {
	return func(g *Group) (*Result, error) {
		client := g.Lab.Client
		interval := g.Settings[0].Interval
		frame := client.Forge(lab.Forgery{Source: client.Address, Version: 3, VRID: g.Settings[0].VRID, Priority: 255, Interval: interval, Addresses: g.Addresses})
		return g.flood("forged advertisements", [][]byte{frame}, int(time.Second/interval), length)
	}
}

// flood sends frames from the client's host for a while. The result's CPU is
// that of the busiest daemon meanwhile.
func (g *Group) flood(name string, frames [][]byte, perSecond int, length time.Duration) (_ *Result, err error) {
	defer try.Catch(&err)
	var cpu float64
	var sent int
	res := try.Get(g.run(name, lab.MeasureConfig{}, func(m *lab.Measurement, _ *lab.Node) time.Duration {
		at := m.Mark("%s: begins", name)
		flood := try.Get(g.Lab.Flood(g.Lab.Client, frames, perSecond))
		cpu = g.busiest(length)
		sent = flood.Stop()
		m.Mark("%s: ends", name)
		time.Sleep(g.span())
		return at
	}))
	res.CPU = cpu
	res.addNote("%d packets", sent)
	return res, nil
}

// busiest waits, and is what the daemon that takes most does meanwhile, in per cent of a processor.
func (g *Group) busiest(length time.Duration) (percent float64) {
	before, began := g.cpu(), time.Now()
	time.Sleep(length)
	for i, after := range g.cpu() {
		percent = max(percent, float64(after-before[i])/float64(time.Since(began))*100)
	}
	return percent
}

// cpu is the processor time of every daemon so far, by node.
func (g *Group) cpu() []time.Duration {
	used := make([]time.Duration, len(g.Daemons))
	for i, p := range g.Daemons {
		if p != nil {
			used[i], _ = p.TreeCPU()
		}
	}
	return used
}
