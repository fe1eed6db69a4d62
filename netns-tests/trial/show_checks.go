package trial

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// checker is one node with an apiserver and a keepvip that checks it many times over.
type checker struct {
	lab    *lab.Lab
	api    *lab.APIServer
	daemon *lab.Process
}

// startChecker runs that many checks every 100 ms.
func startChecker(host *lab.Host, checks int, timeout time.Duration) (_ *checker, err error) {
	defer try.Catch(&err)
	l := try.Get(host.Open(lab.Config{Nodes: 1}))
	c := &checker{lab: l}
	n := l.Nodes[0]
	if c.api, err = n.StartAPIServer(); err == nil {
		c.daemon, err = runChecks(n, checks, timeout)
	}
	if err == nil {
		_, err = until(SettleLimit, "the node that is well holds the address", func() bool { return n.Holds(lab.VIP4) })
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return c, nil
}

func runChecks(n *lab.Node, checks int, timeout time.Duration) (_ *lab.Process, err error) {
	defer try.Catch(&err)
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: keepvip/v1\nkind: Config\nvips:\n- addresses: [%q]\n  checks:\n", lab.VIP4)
	for i := range checks {
		fmt.Fprintf(&b, "  - {kind: https, name: c%d, url: \"https://127.0.0.1:6443/readyz\", insecure: true, interval: 100ms, timeout: %v}\n", i, timeout)
	}
	return Keepvip{}.Run(n, "--config", try.Get(n.WriteFile("keepvip.yaml", b.String(), 0o644)))
}

// files counts the open files of the daemon.
func (c *checker) files() int {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", c.daemon.PID()))
	if err != nil {
		return -1
	}
	return len(entries)
}

// most is the largest resident set that the daemon ever had, in MiB.
func (c *checker) most() (float64, error) {
	octets, err := c.daemon.PeakRSS()
	return float64(octets) / (1 << 20), err
}

// mostFiles is the most open files in a while in which every check makes a new connection.
func (c *checker) mostFiles(watch time.Duration) (most int) {
	for end := time.Now().Add(watch); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		most = max(most, c.files())
	}
	return most
}

// probes counts what the daemon has probed so far.
func (c *checker) probes() (sum int, err error) {
	status, err := Keepvip{}.Status(c.lab.Nodes[0])
	for _, v := range status.VIPs {
		for _, check := range v.Checks {
			sum += check.Probes
		}
	}
	return sum, err
}

// fiftyChecks is what many fast checks cost. An hour of one check at its default interval is 12,000 probes.
func fiftyChecks(host *lab.Host) (_ Findings, err error) {
	defer try.Catch(&err)
	const watch = time.Minute
	c := try.Get(startChecker(host, 50, 600*time.Millisecond))
	defer c.lab.Close()
	time.Sleep(2 * time.Second)
	files := c.mostFiles(4 * time.Second)
	before := try.Get(c.daemon.CPU())
	began := time.Now()
	time.Sleep(watch)
	after := try.Get(c.daemon.CPU())
	used := float64(after-before) / float64(time.Since(began)) * 100
	later := c.mostFiles(4 * time.Second)
	probes := try.Get(c.probes())
	most, err := c.most()
	return Findings{
		{What: "CPU of 50 checks every 100 ms", Got: used, Limit: 10, Unit: "% of a core"},
		{What: "probes", Got: float64(probes), Limit: -1, Unit: "in all"},
		{What: "open files at the beginning", Got: float64(files), Limit: -1, Unit: "at most"},
		// Each has one idle connection, one that it asks on, and now and then the next one already.
		{What: "more of them at the end", Got: max(float64(later-files), 0), Limit: 10, Unit: "files"},
		{What: "memory", Got: most, Limit: 32, Unit: "MiB"},
	}, err
}
