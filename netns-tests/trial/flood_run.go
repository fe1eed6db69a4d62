package trial

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// Shares tells whether another flood may have the same group, one after the other.
func (f Flood) Shares(other Flood) bool {
	return f.open == nil && other.open == nil && reflect.DeepEqual(f.Config, other.Config)
}

// Open opens a group to be flooded.
func (f Flood) Open(host *lab.Host) (*Group, error) {
	if f.open != nil {
		return f.open(host)
	}
	return OpenMixed(host, f.Config)
}

// Run opens a group of its own and floods it for a while.
func (f Flood) Run(host *lab.Host, length time.Duration) (_ Flooded, err error) {
	defer try.Catch(&err)
	g := try.Get(f.Open(host))
	defer g.Close()
	return f.On(g, length)
}

// On floods a group for a while.
func (f Flood) On(g *Group, length time.Duration) (found Flooded, err error) {
	defer try.Catch(&err)
	time.Sleep(time.Second) // past the announcements of the start
	before := g.said()

	res := try.Get(g.run(f.Name, lab.MeasureConfig{}, func(m *lab.Measurement, holder *lab.Node) time.Duration {
		at := m.Mark("%s: begins", f.Name)
		used, began := g.cpu(), time.Now()
		stop := f.begin(g, holder)
		time.Sleep(length)
		if f.beside != nil {
			found.Asked, found.Served = asksBeside, f.beside(g, holder, asksBeside)
		}
		took := time.Since(began)
		for i, after := range g.cpu() {
			found.CPU = max(found.CPU, float64(after-used[i])/float64(took)*100)
		}
		found.Rate = float64(stop()) / took.Seconds()
		m.Mark("%s: ends", f.Name)
		time.Sleep(g.span())
		return at
	}))
	found.Silent, found.Two, found.Transitions = res.Outage, res.Two, res.Takeovers
	found.BySilence = res.Report.Silences(res.FaultAt)
	for _, n := range g.running() {
		found.Late = max(found.Late, time.Duration(try.Get(Keepvip{}.Status(n)).VIPs[0].Lateness*float64(time.Second)))
		peak, err := g.Daemon(n).PeakRSS()
		if err != nil {
			return found, fmt.Errorf("trial: %s: the daemon on %s: %w\n%s", f.Name, n.Label, err, g.Logs())
		}
		found.RSS = max(found.RSS, peak)
	}
	for i, after := range g.said() {
		found.Lines = max(found.Lines, after.lines-before[i].lines)
		found.Transitions += after.changes - before[i].changes
	}
	return found, nil
}

// said is what a daemon has logged so far.
type said struct{ lines, changes int }

func (g *Group) said() []said {
	all := make([]said, len(g.Daemons))
	for i, p := range g.Daemons {
		if p == nil {
			continue
		}
		log := p.Log()
		all[i] = said{lines: strings.Count(log, "\n"), changes: strings.Count(log, `msg="state changed"`)}
	}
	return all
}

// Findings compares it with the limits. An address moves where its holder has ceased to advertise for long enough, on any machine, or goes
// and comes back at a holder that finds itself late; each such move is two changes on both nodes and a bind, and perhaps the way back.
func (f Flooded) Findings() Findings {
	moved := none("transitions that no silence explains", f.Unexplained())
	return Findings{
		{What: "rate", Got: f.Rate, Limit: -1, Unit: "a second"},
		{What: "processor", Got: f.CPU, Limit: floodCPU, Unit: "% of a core"},
		{What: "memory", Got: float64(f.RSS) / (1 << 20), Limit: floodRSS >> 20, Unit: "MiB"},
		{What: "log", Got: float64(f.Lines), Limit: floodLines, Unit: "lines"},
		moved, took("silent", f.Silent, 20*time.Millisecond), took("two answered for", f.Two, 20*time.Millisecond),
		told("a timer late", f.Late), none("others not served", f.Asked-f.Served),
	}
}

// Unexplained are the transitions beyond those of moves from a holder that had ceased to advertise.
func (f Flooded) Unexplained() int { return max(f.Transitions-10*f.BySilence, 0) }
