package trial

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

// checker is one node with an apiserver and a keepvip that checks it many times over.
type checker struct {
	lab    *lab.Lab
	api    *lab.APIServer
	daemon *lab.Process
}

// startChecker runs that many checks every 100 ms.
func startChecker(host *lab.Host, checks int, timeout time.Duration) (*checker, error) {
	l, err := host.Open(lab.Config{Nodes: 1})
	if err != nil {
		return nil, err
	}
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

func runChecks(n *lab.Node, checks int, timeout time.Duration) (*lab.Process, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: keepvip/v1\nkind: Config\nvips:\n- addresses: [%q]\n  checks:\n", lab.VIP4)
	for i := range checks {
		fmt.Fprintf(&b, "  - {kind: https, name: c%d, url: \"https://127.0.0.1:6443/readyz\", insecure: true, interval: 100ms, timeout: %v}\n", i, timeout)
	}
	path, err := n.WriteFile("keepvip.yaml", b.String(), 0o644)
	if err != nil {
		return nil, err
	}
	return Keepvip{}.Run(n, "--config", path)
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
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.daemon.PID()))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.Atoi(strings.Fields(rest)[0])
			return float64(kib) / 1024, err
		}
	}
	return 0, fmt.Errorf("trial: no VmHWM of %s", c.daemon.Name)
}

// fiftyChecks is what many fast checks cost.
func fiftyChecks(host *lab.Host, full bool) (Findings, error) {
	watch := 5 * time.Second
	if full {
		watch = time.Minute
	}
	c, err := startChecker(host, 50, 600*time.Millisecond)
	if err != nil {
		return nil, err
	}
	defer c.lab.Close()
	time.Sleep(2 * time.Second)
	before, err := c.daemon.CPU()
	if err != nil {
		return nil, err
	}
	files, began := c.files(), time.Now()
	time.Sleep(watch)
	after, err := c.daemon.CPU()
	if err != nil {
		return nil, err
	}
	most, err := c.most()
	return Findings{
		{What: "CPU of 50 checks every 100 ms", Got: float64(after-before) / float64(time.Since(began)) * 100, Limit: 10, Unit: "% of a core"},
		// Each has one idle connection, one that it asks on, and now and then the next one already.
		{What: "more open files than before", Got: max(float64(c.files()-files), 0), Limit: 50, Unit: "files"},
		{What: "memory", Got: most, Limit: 32, Unit: "MiB"},
	}, err
}

// hostileServer lets the apiserver misbehave in every way under ten fast checks.
func hostileServer(host *lab.Host, full bool) (Findings, error) {
	each := time.Second
	if full {
		each = 15 * time.Second
	}
	c, err := startChecker(host, 10, 400*time.Millisecond)
	if err != nil {
		return nil, err
	}
	defer c.lab.Close()
	files := c.files()
	for _, mode := range []lab.APIMode{lab.APIHang, lab.APIHandshake, lab.APIDrip, lab.APIHuge, lab.APIHeaders, lab.API500, lab.APIRefuse, lab.APIHealthy} {
		if err := c.api.Set(mode, ""); err != nil {
			return nil, err
		}
		time.Sleep(each)
	}
	if err := c.api.Signal(unix.SIGSTOP); err != nil {
		return nil, err
	}
	time.Sleep(each)
	if err := c.api.Signal(unix.SIGCONT); err != nil {
		return nil, err
	}
	time.Sleep(2 * time.Second)
	most, err := c.most()
	return Findings{
		{What: "memory under hostile servers", Got: most, Limit: 32, Unit: "MiB"},
		{What: "more open files than before", Got: max(float64(c.files()-files), 0), Limit: 20, Unit: "files"},
	}, err
}
