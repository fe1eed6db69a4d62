package trial

import (
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// manyClusters has a group be one of three hundred clusters on a link for ten minutes: nothing moves.
func manyClusters(host *lab.Host) (_ Findings, err error) {
	defer try.Catch(&err)
	g := try.Get(Open(host, Config{}))
	defer g.Close()
	const length = 10 * time.Minute
	var seen Crowded
	// Probes are seldom: a million of them would be kept, and they say no more.
	res := try.Get(g.run("three hundred clusters on a link", lab.MeasureConfig{NoDirect: true, Interval: 20 * time.Millisecond}, func(m *lab.Measurement, holder *lab.Node) (time.Duration, error) {
		at := m.Mark("the other clusters begin")
		var err error
		seen, err = BesideOthers(g, length)
		return at, err
	}))
	return Findings{
		none("false takeovers", res.Takeovers),
		{What: "packets of the others", Got: seen.Sent, Limit: -1, Unit: "a second"},
		{What: "processor of the busiest daemon, alone", Got: seen.Idle, Limit: -1, Unit: "%"},
		{What: "beside the others", Got: seen.CPU, Limit: 5, Unit: "%"},
	}, nil
}
