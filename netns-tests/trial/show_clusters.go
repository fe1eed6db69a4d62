package trial

import (
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

// manyClusters has a group be one of three hundred clusters on a link for ten minutes: nothing moves.
func manyClusters(host *lab.Host) (Findings, error) {
	g, err := Open(host, Config{})
	if err != nil {
		return nil, err
	}
	defer g.Close()
	const length = 10 * time.Minute
	var seen Crowded
	// Probes are seldom: a million of them would be kept, and they say no more.
	res, err := g.run("three hundred clusters on a link", lab.MeasureConfig{NoDirect: true, Interval: 20 * time.Millisecond}, func(m *lab.Measurement, holder *lab.Node) (time.Duration, error) {
		at := m.Mark("the other clusters begin")
		var err error
		seen, err = BesideOthers(g, length)
		return at, err
	})
	if err != nil {
		return nil, err
	}
	return Findings{
		none("false takeovers", res.Takeovers),
		{What: "packets of the others", Got: seen.Sent, Limit: -1, Unit: "a second"},
		{What: "processor of the busiest daemon, alone", Got: seen.Idle, Limit: -1, Unit: "%"},
		{What: "beside the others", Got: seen.CPU, Limit: 5, Unit: "%"},
	}, nil
}
