package trial

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// shutdownDelay is --shutdown-delay-duration of the apiservers that Rolling restarts.
const shutdownDelay = 5 * time.Second

// RollingDaemons restarts the daemons of all nodes, one after the other, while a client makes requests.
func RollingDaemons(g *Group) (*Result, error) {
	return g.rolling("rolling restart of keepvip", AtOnce, func(n *lab.Node) error {
		if err := g.terminated(n); err != nil {
			return err
		}
		return g.Start(n)
	})
}

// RollingAPIServers does so with the apiservers, which say that they are being stopped for a while before they stop.
func RollingAPIServers(g *Group) (*Result, error) {
	return g.rolling("rolling restart of the apiservers", AtOnce, func(n *lab.Node) (err error) {
		defer try.Catch(&err)
		try.Do(n.API().Set(lab.APIShutdown, ""))
		time.Sleep(shutdownDelay)
		try.Do(n.API().Signal(unix.SIGKILL))
		try.Get(n.API().Wait(time.Second))
		return startAPI(n)
	})
}

// AtOnce is when a client makes a request again that has failed, if nothing may be lost.
const AtOnce = time.Millisecond

// rolling begins with the holder: then all nodes hold the address once, and the first of them twice at most. A request
// that fails is made once more after retry.
func (g *Group) rolling(name string, retry time.Duration, restart func(*lab.Node) error) (_ *Result, err error) {
	defer try.Catch(&err)
	var steps []time.Duration // when each node's turn began
	res := try.Get(g.run(name, lab.MeasureConfig{HTTPS: true, HTTPSRetry: retry}, func(m *lab.Measurement, holder *lab.Node) time.Duration {
		for i := range g.Lab.Nodes {
			n := g.Lab.Nodes[(holder.ID-1+i)%len(g.Lab.Nodes)]
			steps = append(steps, m.Mark("the turn of %s", n.Label))
			try.Do(restart(n))
			try.Do(g.healthy())
			time.Sleep(g.span())
		}
		return steps[0]
	}))
	for i, at := range steps {
		moves := res.Report.Takeovers(g.Addresses[0], at)
		if i+1 < len(steps) {
			moves -= res.Report.Takeovers(g.Addresses[0], steps[i+1])
		}
		res.MovesMost = max(res.MovesMost, moves)
	}
	for _, s := range res.Report.HTTPS {
		res.Failed, res.Resets, res.FailedTwice = res.Failed+s.Lost-s.Resets, res.Resets+s.Resets, res.FailedTwice+s.Twice
		res.addNote("%d requests, %d refused or timed out, %d reset, %d failed again %v", s.Sent, s.Lost-s.Resets, s.Resets, s.Twice, s.Failures)
	}
	return res, nil
}
