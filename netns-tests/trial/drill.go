package trial

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// DrillDoc is what the lab reads of `keepvip drill -o json`.
type DrillDoc struct {
	MeasuredFrom string   `json:"measuredFrom"`
	From         string   `json:"from"`
	To           string   `json:"to"`
	Returned     bool     `json:"returned"`
	Outage       *float64 `json:"outageSeconds"`
	Bound        float64  `json:"boundSeconds"`
	Result       string   `json:"result"`
}

// Missed is the outage that the document says, -1 for none.
func (d DrillDoc) Missed() time.Duration {
	if d.Outage == nil {
		return -1
	}
	return time.Duration(*d.Outage * float64(time.Second))
}

// DrillRun is a drill on the holder, measured by the lab's client and by the node that was neither the old holder nor the next.
type DrillRun struct {
	*Result
	Holder    DrillDoc
	Bystander DrillDoc
	// NotTaken tells that the command says, in place of Holder, that no other node took the address in time; Ended is when it said so.
	NotTaken bool
	Ended    time.Duration
}

// Drill runs `keepvip drill` on the holder, and on all other nodes what watches it.
func (g *Group) Drill(kind string) (*DrillRun, error) {
	return atTheHolder(func() (*DrillRun, error) { return g.drill(kind) })
}

func (g *Group) drill(kind string) (_ *DrillRun, err error) {
	defer try.Catch(&err)
	run := &DrillRun{}
	k, _ := commands(g.Product)
	name := try.Get(g.nameOfVIP(k))
	run.Result, err = g.run("keepvip drill --"+kind, lab.MeasureConfig{}, func(m *lab.Measurement, holder *lab.Node) time.Duration {
		watch := try.Get(g.watchDrill(k, holder, kind, name))
		time.Sleep(500 * time.Millisecond) // they have begun
		at := m.Mark("keepvip drill --%s on %s", kind, holder.Label)
		doc, err := drillDoc(try.Get(StartDrill(k, holder, "--"+kind, name)))
		run.Holder, run.NotTaken = doc, errors.Is(err, errNotTaken)
		if !run.NotTaken {
			try.Do(err)
		}
		run.Ended = m.Mark("returned")
		run.Bystander = try.Get(watch())
		return at
	})
	return run, err
}

// Drilled is [Group.Drill] as a fault. It fails where the address did not come back, and on a machine that did not stand still where the two
// figures differ, or are more than is documented.
func Drilled(kind string) Fault {
	return func(g *Group) (_ *Result, err error) {
		defer try.Catch(&err)
		if _, raft := g.Product.(Raft); raft {
			try.Do(g.Voters(10*time.Second, g.Lab.Nodes...))
			time.Sleep(time.Second) // a node that has just started does not vote at once
		}
		run := try.Get(g.Drill(kind))
		if run.NotTaken {
			return nil, errNotTaken
		}
		return run.Result, errors.Join(run.Judge(), run.inTime())
	}
}

// Judge is an error where a drill was not as it should be on any machine.
func (r *DrillRun) Judge() error {
	switch {
	case r.NotTaken:
		return r.judgeNotTaken()
	case r.Bystander.MeasuredFrom != "bystander":
		return fmt.Errorf("trial: %s: nobody has watched", r.Fault)
	case !r.Holder.Returned:
		return fmt.Errorf("trial: %s: the address did not come back: %+v", r.Fault, r.Holder)
	case r.Holder.From == r.Holder.To:
		return fmt.Errorf("trial: %s: the address did not move", r.Fault)
	}
	return nil
}

// judgeNotTaken is an error where another node advertised, without a break, for half of the time in which the drill says that none took the address.
func (r *DrillRun) judgeNotTaken() error {
	var began time.Duration
	var last lab.Advert
	for _, a := range r.Report.Adverts {
		if a.At < r.FaultAt || a.At > r.Ended || a.Priority == 0 {
			continue
		}
		if a.Node != last.Node || a.At-last.At >= 3*last.Interval {
			began = a.At
		}
		last = a
		if a.Node != r.Victim && a.At-began >= (r.Ended-r.FaultAt)/2 {
			return fmt.Errorf("trial: %s: it says that no node took the address in time, and node %d has advertised from %v to %v", r.Fault, a.Node, began, a.At)
		}
	}
	return nil
}

// errNotTaken is what a drill says where no other node takes the address in time.
var errNotTaken = errors.New("trial: keepvip drill: the address was not taken in time")

// drillRoom is by how much a drill and the lab's own client may differ: they ask at other moments, and the one connects where the other sends.
const drillRoom = 10 * time.Millisecond

func (r *DrillRun) inTime() error {
	switch differ := (r.Outage - r.Bystander.Missed()).Abs(); {
	case r.Report.StoodStill() > drillRoom:
	case differ > drillRoom:
		return fmt.Errorf("trial: %s: the lab's client missed %v, the bystander %v", r.Fault, r.Outage, r.Bystander.Missed())
	case r.Bystander.Result != "ok":
		return fmt.Errorf("trial: %s: %v is more than the %v that are documented", r.Fault, r.Bystander.Missed(), time.Duration(r.Bystander.Bound*float64(time.Second)))
	}
	return nil
}

// watchDrill begins to watch on all nodes but the holder. What it returns is what the one has seen that was neither.
func (g *Group) watchDrill(k Keepvip, holder *lab.Node, kind, name string) (_ func() (DrillDoc, error), err error) {
	defer try.Catch(&err)
	var watchers []*lab.Process
	for _, n := range g.Others(holder) {
		watchers = append(watchers, try.Get(StartDrill(k, n, "--watch", "10s", "--"+kind, name)))
	}
	return func() (out DrillDoc, err error) {
		defer try.Catch(&err)
		for _, p := range watchers {
			if doc := try.Get(drillDoc(p)); doc.MeasuredFrom == "bystander" {
				out = doc
			}
		}
		return out, nil
	}, nil
}

// StartDrill runs `keepvip drill` on the node.
func StartDrill(k Keepvip, n *lab.Node, args ...string) (_ *lab.Process, err error) {
	defer try.Catch(&err)
	return n.Start("drill", append([]string{try.Get(k.binary()), "drill", "-o", "json", "--socket", Socket(n)}, args...)...)
}

// drillDoc is what one says at its end, whatever its verdict.
func drillDoc(p *lab.Process) (doc DrillDoc, err error) {
	defer try.Catch(&err)
	try.Get(p.Wait(20 * time.Second))
	if p.Stdout() == "" && strings.Contains(p.Log(), "(KV705)") {
		return doc, errNotTaken
	}
	if err := json.Unmarshal([]byte(p.Stdout()), &doc); err != nil {
		return doc, fmt.Errorf("trial: keepvip drill: %w: %s", err, p.Log())
	}
	return doc, nil
}

// commands is how to run commands of a product; not ok: it is no keepvip.
func commands(p Product) (k Keepvip, ok bool) {
	switch p := p.(type) {
	case Keepvip:
		return p, true
	case Raft:
		return p.Keepvip, true
	case Gatewayed:
		return p.Keepvip, true
	case Keyed, Versions:
		return Keepvip{}, true
	}
	return Keepvip{}, false
}

// nameOfVIP is what the group's keepvip calls its virtual address.
func (g *Group) nameOfVIP(k Keepvip) (_ string, err error) {
	defer try.Catch(&err)
	s := try.Get(k.Status(g.Lab.Nodes[0]))
	if len(s.VIPs) == 0 {
		return "", fmt.Errorf("trial: %s has no virtual address", g.Product.Name())
	}
	return s.VIPs[0].Name, nil
}

// DrillBroken begins a drill on the holder and breaks it after a while: the command is interrupted or killed, or the daemon killed. Then
// the daemon runs again, and one node holds the address.
func DrillBroken(kind string, after time.Duration, how DrillBreak) Fault {
	return func(g *Group) (_ *Result, err error) {
		defer try.Catch(&err)
		k, _ := commands(g.Product)
		name := try.Get(g.nameOfVIP(k))
		return g.run(fmt.Sprintf("keepvip drill --%s, %s after %v", kind, how, after), lab.MeasureConfig{}, func(m *lab.Measurement, holder *lab.Node) time.Duration {
			p := try.Get(StartDrill(k, holder, "--"+kind, name))
			at := m.Mark("keepvip drill --%s on %s", kind, holder.Label)
			time.Sleep(after)
			m.Mark("%s", how)
			g.breakDrill(p, holder, how)
			try.Get(g.SettleAny())
			return at
		})
	}
}

// DrillBreak is how a drill is interrupted.
type DrillBreak string

// The ways.
const (
	BreakInterrupt DrillBreak = "Ctrl-C"
	BreakCommand   DrillBreak = "kill -9 of the command"
	BreakDaemon    DrillBreak = "kill -9 of the daemon"
)

// breakDrill is a part of the fault, which catches its steps.
func (g *Group) breakDrill(p *lab.Process, holder *lab.Node, how DrillBreak) {
	switch how {
	case BreakInterrupt:
		try.Do(p.Signal(unix.SIGINT))
	case BreakCommand:
		try.Do(p.Kill9())
	case BreakDaemon:
		try.Do(g.Daemon(holder).Kill9())
		time.Sleep(RestartAfter)
		try.Do(g.Start(holder))
	}
	try.Get(p.Wait(20 * time.Second))
}
