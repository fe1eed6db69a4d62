package trial

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// Follower is a node that takes part in nothing, and follows the members.
type Follower struct {
	*Spreading
	Worker  *lab.Node
	Process *lab.Process // of `keepvip follow`
	key     string       // file of the followers' key; "" without
}

// FollowerConfig says how a worker follows.
type FollowerConfig struct {
	Signed bool // all that is said is signed, and the follower's key is derived from the members'
	Both   bool // an IPv4 and an IPv6 address, else IPv4 alone
	V6     bool // IPv6 alone, which carries the election
	Behind bool // the worker is behind a router

	Interval time.Duration // 0: 100 ms
}

// OpenFollower opens a group of three members whose load is spread, with one node more that follows them.
func OpenFollower(host *lab.Host, cfg FollowerConfig) (_ *Follower, err error) {
	defer try.Catch(&err)
	f := &Follower{}
	product := WithSpread{Watched: true}
	before := func(*lab.Node) error { return nil }
	if cfg.Signed {
		product.Key = KeyOf
		before = func(n *lab.Node) error { return try.Err(n.WriteFile("key", strings.Repeat("6b", 32)+"\n", 0o600)) }
	}
	s := try.Get(openSpread(host, SpreadConfig{Nodes: 4, Running: 3, V4: !cfg.Both && !cfg.V6, V6: cfg.V6, Interval: cfg.Interval, Product: product}, before))
	f.Spreading, f.Worker = s, s.Lab.Nodes[3]
	if cfg.Behind {
		try.Do(f.Worker.MoveBehindRouter())
	}
	if cfg.Signed {
		f.key = f.Worker.Path("followers.key")
		if p, code := try.Two(s.product.Command(f.Worker, "key", "derive", "--for", "followers", "--out", f.key, KeyOf(f.Worker))); code != 0 {
			return nil, fmt.Errorf("trial: keepvip key derive: exit status %d: %s", code, p.Log())
		}
	}
	return f, nil
}

// KeyOf is the file of a node's key.
func KeyOf(n *lab.Node) string { return n.Path("key") }

// Members are the nodes that are followed.
func (f *Follower) Members() []*lab.Node { return f.Lab.Nodes[:3] }

// Target is where the worker's programs connect to.
func (f *Follower) Target() netip.AddrPort { return f.Targets()[0] }

// followerMetrics is where the worker's keepvip tells its metrics.
const followerMetrics = "127.0.0.1:9645"

// Metrics are those that the worker's keepvip tells, by the name of each series with its labels.
func (f *Follower) Metrics() (map[string]string, error) {
	text, err := f.Worker.Run("curl", "-sf", "http://"+followerMetrics+"/metrics")
	out := map[string]string{}
	for line := range strings.Lines(text) {
		if series, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && series != "#" {
			out[series] = value
		}
	}
	return out, err
}

// Begin starts to follow, and waits until so many members get connections.
func (f *Follower) Begin(members int) (err error) {
	defer try.Catch(&err)
	path := try.Get(f.product.binary())
	text := fmt.Sprintf("apiVersion: keepvip/v1\nkind: Config\nvips:\n- name: apiserver\n  addresses: [%s]\n  check: none\n%s", quoted(f.Addresses), f.product.option(f.Worker))
	if f.key != "" { // the members' key is not on this node as far as it knows
		text += fmt.Sprintf("key: {file: /not/there}\nfollow: {keyFile: %s}\n", f.key)
	}
	file := try.Get(f.Worker.WriteFile("follow.yaml", text, 0o644))
	listening := Keepvip{Metrics: followerMetrics}
	argv := append([]string{path, "follow", "--config", file}, listening.Paths(f.Worker)...)
	f.Process = try.Get(f.Worker.StartCommand(lab.Command{Name: "keepvip-follow", Args: argv}))
	return f.Follows(members)
}

// Follows waits until so many members get connections from the worker, as its keepvip says.
func (f *Follower) Follows(members int) error {
	if err := insist(SettleLimit, 20*time.Millisecond, func() error {
		s, err := f.Status()
		if err == nil && (s.used(len(f.Addresses)) != members || members > 0 && len(s.Follows[0].By) == 0) {
			err = errors.New(s.text())
		}
		return err
	}); err != nil {
		return fmt.Errorf("trial: want %d members to get connections from the worker within %v: %w\n%s", members, SettleLimit, err, f.Process.Log())
	}
	return nil
}

// FollowerStatus is what the lab reads of `keepvip status -o json` on the worker.
type FollowerStatus struct {
	Follows []struct {
		By    []string `json:"by"`
		Ports []struct {
			Wire    bool `json:"wire"`
			Members []struct {
				Address string   `json:"address"`
				SentTo  []string `json:"sentTo"`
				Why     string   `json:"why"`
			} `json:"members"`
		} `json:"ports"`
	} `json:"follows"`
}

// used are how many members get connections at the first port: those of all families.
func (s FollowerStatus) used(families int) (n int) {
	if len(s.Follows) == 0 || len(s.Follows[0].Ports) == 0 {
		return 0
	}
	for _, m := range s.Follows[0].Ports[0].Members {
		if len(m.SentTo) == families {
			n++
		}
	}
	return n
}

func (s FollowerStatus) text() string { return fmt.Sprintf("%+v", s) }

// Status asks the worker's keepvip.
func (f *Follower) Status() (FollowerStatus, error) {
	var s FollowerStatus
	err := askStatus(f.Worker, answerLimit, &s)
	return s, err
}

// Death is what a worker saw of the death of a member's server, or of its node.
type Death struct {
	lab.Sampled
	Kept    Kept          // of the connections that it held
	At      time.Duration // when it died
	Noticed time.Duration // from then until the last connection began that failed; 0 if none did
}

const (
	// eachRefused is between two connections to a server that refuses them, and eachLost to one that does not answer: each of those waits for a
	// second.
	eachRefused, eachLost = 400 * time.Microsecond, 5 * time.Millisecond
	// afterDeath is for how long is watched what becomes of connections.
	afterDeath = 1200 * time.Millisecond
)

// EndServer ends the server of a member, as the death of its process would, while the worker makes connections.
func (f *Follower) EndServer(n *lab.Node) (Death, error) {
	return f.watchDeath(n, eachRefused, 0, func() (time.Duration, error) {
		f.unserve(n)
		return f.greeters[n.ID-1].Ended(), nil
	})
}

// EndNode ends a member's node, while the worker makes connections, and holds some.
func (f *Follower) EndNode(n *lab.Node) (Death, error) {
	return f.watchDeath(n, eachLost, 30, n.PowerOff)
}

func (f *Follower) watchDeath(n *lab.Node, every time.Duration, hold int, die func() (time.Duration, error)) (d Death, err error) {
	defer try.Catch(&err)
	s := try.Get(f.Lab.StartSampling(f.Worker.Namespace, f.Target(), every))
	h := try.Get(f.HoldFrom(hold))
	time.Sleep(300*time.Millisecond + rand.N(f.Settings[0].Interval)) // some are served before
	d.At, err = die()
	time.Sleep(afterDeath)
	d.Sampled = s.Stop()
	d.Noticed = max(d.LastFailed()-d.At, 0)
	d.Kept = keptOf([]lab.HeldReport{h.Stop()}, n, d.At)
	return d, err
}

// SampleFrom has the worker connect so many times.
func (f *Follower) SampleFrom(count int) (lab.Sampled, error) { return f.SampleOf(f.Target(), count) }

// SampleOf is SampleFrom with another one of the targets.
func (f *Follower) SampleOf(target netip.AddrPort, count int) (lab.Sampled, error) {
	return f.Lab.Sample(f.Worker.Namespace, target, count)
}

// HoldFrom has the worker hold so many connections.
func (f *Follower) HoldFrom(count int) (*lab.Held, error) {
	return f.Lab.Hold(f.Worker.Namespace, lab.HeldConfig{Target: f.Target(), Count: count})
}

// FallenThrough waits until nothing on the worker sends connections to members any more.
func (f *Follower) FallenThrough() error {
	return within(SettleLimit, "nothing intercepts any more", func() bool {
		out, err := f.Worker.Run("nft", "list", "ruleset")
		return err == nil && !strings.Contains(out, "expires")
	})
}
