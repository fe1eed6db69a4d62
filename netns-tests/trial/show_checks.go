package trial

import (
	"time"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// fiftyChecks is what many fast checks cost. An hour of one check at its default interval is 12,000 probes.
func fiftyChecks(g *Group, _ bool) Findings {
	daemon := g.Daemons[0]
	mostFiles := func() (most int) { // every check makes a new connection meanwhile
		for end := time.Now().Add(4 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			n, _ := daemon.Files()
			most = max(most, n)
		}
		return most
	}
	time.Sleep(2 * time.Second)
	files := mostFiles()
	used := g.busiest(time.Minute)
	later, probes := mostFiles(), 0
	for _, check := range try.Get(Keepvip{}.Status(g.Lab.Nodes[0])).VIPs[0].Checks {
		probes += check.Probes
	}
	return Findings{
		{What: "CPU of 50 checks every 100 ms", Got: used, Limit: 10, Unit: "% of a core"},
		{What: "probes", Got: float64(probes), Limit: -1, Unit: "in all"},
		{What: "open files at the beginning", Got: float64(files), Limit: -1, Unit: "at most"},
		// Each has one idle connection, one that it asks on, and now and then the next one already.
		{What: "more of them at the end", Got: max(float64(later-files), 0), Limit: 10, Unit: "files"},
		{What: "memory", Got: float64(try.Get(daemon.PeakRSS())) / (1 << 20), Limit: 32, Unit: "MiB"},
	}
}
