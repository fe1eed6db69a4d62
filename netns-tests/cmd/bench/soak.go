package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// runSoak injects random faults until the time is over. After each one the
// group must settle on one holder again; every fault makes sure of it before
// it begins, and the last settling is checked here.
func runSoak(host *lab.Host, length time.Duration, out io.Writer) error {
	g, err := trial.Open(host, trial.Config{API: true})
	if err != nil {
		return err
	}
	defer g.Close()
	faults := []trial.Fault{
		trial.NodeDeath, trial.DaemonKilled, trial.DaemonRestarted, trial.Terminated, trial.CablePulled, trial.APIKilled,
		trial.APIIll(lab.API500, "", 4*time.Second), trial.APIIll(lab.APIHang, "", 5*time.Second), trial.APIAllKilled,
		trial.Partition(3 * time.Second), trial.Frozen(3 * time.Second),
	}
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	fmt.Fprintf(out, "seed %d\n", seed)
	for end := time.Now().Add(length); time.Now().Before(end); {
		res, err := faults[random.IntN(len(faults))](g)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s  %-30s outage %6s ms, requests %6s ms, takeovers %d, two answering %s ms, stall %s ms\n", time.Now().Format(time.TimeOnly),
			res.Fault, lab.Milliseconds(res.Outage), lab.Milliseconds(res.HTTPS), res.Takeovers, lab.Milliseconds(res.Two), lab.Milliseconds(res.Stall))
		for i, p := range g.Daemons {
			if rss, err := p.RSS(); err == nil {
				fmt.Fprintf(out, "          n%d RSS %.1f MiB\n", i+1, float64(rss)/(1<<20))
			}
		}
	}
	_, err = g.Settle()
	return err
}
