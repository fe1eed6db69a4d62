package trial

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/keepvip/keepvip/members/envelope"
	"github.com/keepvip/keepvip/members/pulse"
	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// QuietLength is for how long each disturbance goes on that must move nothing, where nothing else is said.
const QuietLength = 10 * time.Minute

// nodeGone is the code of a move because the node of the holder was found to be gone.
const nodeGone = "KV365"

// DetectorShows are what `vrrp.detector: fast` must not take for a death, each for that long.
func DetectorShows(length time.Duration) []Show {
	s := ofCases("detector fast moves nothing", []Case{
		quiet("16 loops of short tasks", length, Fast(), func(g *Group, end time.Time) (err error) {
			defer try.Catch(&err)
			p := try.Get(g.Lab.Press(8))
			defer p.Release()
			time.Sleep(time.Until(end))
			return nil
		}),
		quiet("every daemon throttled to 20 % of a processor", length, Fast(), throttled(20)),
		quiet("20 % of all frames between nodes lost", length, Fast(), func(g *Group, end time.Time) error {
			if err := g.Lab.Cut(LossBetween(20).cuts(g.Lab.Nodes[0], g.Lab.Nodes[1:])...); err != nil {
				return err
			}
			time.Sleep(time.Until(end))
			return g.Lab.Cut()
		}),
		quiet("backups stopped and continued", length, Fast(), backupsStopped),
		quiet("clocks stepped", length, Keepvip{Args: Fast().Args, Ahead: make([]time.Duration, 3)}, clocksStepped),
	})
	s.Measured = true
	return []Show{s}
}

// quiet disturbs a group until a time, and counts what moved. A holder that has not advertised for three intervals has no lease any more: then a move is
// right, and only told.
func quiet(name string, length time.Duration, product Keepvip, disturb func(*Group, time.Time) error) Case {
	return Case{Name: name, Run: func(host *lab.Host, _ int) (_ Findings, err error) {
		defer try.Catch(&err)
		g := try.Get(Open(host, Config{Product: product}))
		defer g.Close()
		try.Do(g.Watched())
		holder := try.Get(g.Settle())
		m := try.Get(g.watch(name, lab.MeasureConfig{}))
		at := m.Mark("%s is the holder: %s for %v", holder.Label, name, length)
		err = disturb(g, time.Now().Add(length))
		m.Mark("it is over")
		time.Sleep(g.span())
		report := m.Stop()
		try.Do(errors.Join(err, report.Blind))
		res, found := g.result(name, at, holder, report), 0
		for _, n := range g.Lab.Nodes {
			found += strings.Count(g.Daemon(n).Log(), nodeGone)
		}
		two := took("two answering", res.Two, 0)
		if res.BySilence > 0 {
			two.Limit = -1 // of two that both advertise, the one that is kept from the processor hears of the other late
		}
		return Findings{
			none("nodes found to be gone", found), none("takeovers from a holder that advertises", res.Takeovers-res.BySilence), two, told("longest silence", res.Outage),
			{What: "takeovers from one that does not", Got: float64(res.BySilence), Limit: -1, Unit: "times"},
		}, nil
	}}
}

// Watched waits until each Backup would find out that the node of the holder is gone: before that nothing could be found wrongly.
func (g *Group) Watched() error {
	return insist(SettleLimit, 50*time.Millisecond, func() (err error) {
		defer try.Catch(&err)
		for _, n := range g.Lab.Nodes {
			if d := try.Get(Keepvip{}.Status(n)).VIPs[0].Detector; d == nil || d.Plain != "" {
				return fmt.Errorf("trial: %s does not watch the holder", n.Label)
			}
		}
		return nil
	})
}

func throttled(percent int) func(*Group, time.Time) error {
	return func(g *Group, end time.Time) (err error) {
		for _, p := range g.Daemons {
			release, failed := p.Throttle(percent)
			if failed != nil {
				return errors.Join(err, failed)
			}
			defer func() { err = errors.Join(err, release()) }()
		}
		time.Sleep(time.Until(end))
		return nil
	}
}

// backupsStopped stops one Backup after the other by SIGSTOP for 1.5 s, and sometimes both: a member that stands still says nothing, and what it says
// when it goes on is old.
func backupsStopped(g *Group, end time.Time) (err error) {
	defer try.Catch(&err)
	const stands, goesOn = 1500 * time.Millisecond, 500 * time.Millisecond
	for turn := 1; time.Now().Before(end); turn++ {
		holders := g.Holders()
		if len(holders) != 1 {
			time.Sleep(goesOn)
			continue
		}
		var list []*lab.Process
		for i, n := range g.Others(holders[0]) {
			if turn&(1<<i) != 0 {
				list = append(list, g.Daemon(n))
			}
		}
		for _, p := range list {
			try.Do(p.Stop())
		}
		time.Sleep(stands)
		for _, p := range list {
			try.Do(p.Cont())
		}
		time.Sleep(goesOn)
	}
	return nil
}

// clocksStepped steps the wall clocks of all nodes in turn, forward and back by up to an hour.
func clocksStepped(g *Group, end time.Time) (err error) {
	defer try.Catch(&err)
	steps := []time.Duration{time.Second, time.Hour, 0, -time.Second, -time.Hour, 0}
	for turn := 0; time.Now().Before(end); turn++ {
		n := g.Lab.Nodes[turn/len(steps)%len(g.Lab.Nodes)]
		try.Do(g.Daemon(n).StepClock(steps[turn%len(steps)]))
		time.Sleep(500 * time.Millisecond)
	}
	return nil
}

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
