package trial

import (
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

// routedAddress is in no subnet of the lab.
var routedAddress = netip.MustParseAddr("10.99.0.100")

// routes measures how soon the router has no route any more to a node that ceases to serve, with each routing daemon on the node.
func routes(host *lab.Host, full bool) (Findings, error) {
	var out Findings
	for _, d := range []struct {
		name  string
		run   func(*lab.Node, *lab.Peer) (*lab.Process, error)
		args  []string
		limit time.Duration
	}{
		{"BIRD", RunBIRD, nil, 20 * time.Millisecond},
		{"FRR", RunFRRBGP, []string{"--announce-table", "254"}, 80 * time.Millisecond},
	} {
		found, err := withdrawals(host, d.run, d.args, sized(full, 10, 1), sized(full, d.limit, time.Minute))
		if err != nil {
			return out, fmt.Errorf("%s: %w", d.name, err)
		}
		out = append(out, found.of(d.name)...)
	}
	return out, nil
}

// withdrawals measures one routing daemon. The limit is for medians.
func withdrawals(host *lab.Host, daemon func(*lab.Node, *lab.Peer) (*lab.Process, error), args []string, times int, limit time.Duration) (Findings, error) {
	l, err := host.Open(lab.Config{Nodes: 1, OffLink: true})
	if err != nil {
		return nil, err
	}
	defer l.Close()
	stop, err := RunRouter(l)
	if err != nil {
		return nil, err
	}
	defer stop()
	n := l.Nodes[0]
	if _, err := daemon(n, l.Router); err != nil {
		return nil, err
	}
	var p *lab.Process
	start := func() (err error) {
		p, err = Keepvip{}.Run(n, append([]string{"--vip", routedAddress.String(), "--election", "local", "--interface", n.NICs[0].Name}, args...)...)
		return err
	}
	if err := start(); err != nil {
		return nil, err
	}
	var out Findings
	for _, f := range []struct {
		name      string
		do, after func() error
	}{
		{"kill -9 of keepvip", func() error { return p.Kill9() }, start},
		{"apiserver killed", func() error { return n.API().Kill9() }, func() error { return nil }},
		{"apiserver answers 500", func() error { return n.API().Set(lab.API500, "") }, func() error { return n.API().Set(lab.APIHealthy, "") }},
	} {
		var took []time.Duration
		for range times {
			if _, err := n.StartAPIServer(); err != nil {
				return out, err
			}
			d, err := withdrawn(l, f.do)
			if err != nil {
				return out, fmt.Errorf("%s: %w", f.name, err)
			}
			took = append(took, d)
			if err := f.after(); err != nil {
				return out, err
			}
		}
		slices.Sort(took)
		bound := limit
		if f.name == "apiserver answers 500" { // which is seen by the check: three times 300 ms
			bound += time.Second
		}
		out = append(out, median(f.name, took, bound))
	}
	return out, nil
}

// median is that of sorted times.
func median(what string, sorted []time.Duration, limit time.Duration) Measured {
	return Measured{What: what, Got: inMilliseconds(sorted[len(sorted)/2]), Limit: inMilliseconds(limit), Unit: "ms"}
}

// withdrawn waits until the router has the route, does something, and tells how long after its beginning the router's kernel had it no more.
func withdrawn(l *lab.Lab, do func() error) (time.Duration, error) {
	has := func() bool {
		hops, err := NextHops(l, routedAddress)
		return err == nil && len(hops) > 0
	}
	if err := within(20*time.Second, "a route at the router", has); err != nil {
		return 0, err
	}
	log := l.Dir + "/router-routes"
	if _, err := l.Router.Run("sh", "-c", fmt.Sprintf("rm -f %[1]s; setsid timeout 60 ip -ts monitor route >%[1]s 2>&1 & echo $! >%[1]s.pid", log)); err != nil {
		return 0, err
	}
	defer func() { _, _ = l.Router.Run("pkill", "-F", log+".pid") }()
	// It watches as soon as it has seen something.
	if err := within(10*time.Second, "a look at the routes", func() bool {
		_, _ = l.Router.Run("sh", "-c", "ip route add 10.98.0.1/32 dev eth0; ip route del 10.98.0.1/32 dev eth0")
		text, err := os.ReadFile(log)
		return err == nil && len(text) > 0
	}); err != nil {
		return 0, err
	}
	began := time.Now()
	if err := do(); err != nil {
		return 0, err
	}
	var at time.Time
	err := within(20*time.Second, "no route at the router", func() bool {
		text, err := os.ReadFile(log)
		if err != nil {
			return false
		}
		for line := range strings.Lines(string(text)) {
			stamp, what, ok := strings.Cut(strings.TrimPrefix(line, "["), "] ")
			if ok && strings.HasPrefix(what, "Deleted "+routedAddress.String()+" ") {
				at, err = time.ParseInLocation("2006-01-02T15:04:05.000000", stamp, time.Local)
				return err == nil
			}
		}
		return false
	})
	return at.Sub(began), err
}
