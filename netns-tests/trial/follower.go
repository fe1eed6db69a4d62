package trial

import (
	"errors"
	"fmt"
	"math"
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

// ServeAgain starts the server of a member again.
func (f *Follower) ServeAgain(n *lab.Node) error { return f.serve(n) }

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

// The limits of what a follower notices.
const (
	serverDeath = 20 * time.Millisecond
	nodeDeath   = 500 * time.Millisecond
)

// followed are what is promised of a worker whose connections go straight to the members, beside the same worker without `keepvip follow`.
func followed() []Case {
	return []Case{
		{Name: "shares", Run: followerShares},
		{Name: "a member's server dies", Run: followerServerDeath},
		{Name: "a member's node dies", Run: followerNodeDeath},
		{Name: "keepvip is killed", Run: followerKilled},
	}
}

// follow opens a group with a worker, which follows or does not.
func follow(host *lab.Host, follows bool, do func(*Follower) error) (err error) {
	defer try.Catch(&err)
	f := try.Get(OpenFollower(host, FollowerConfig{Signed: true}))
	defer f.end(&err)
	if follows {
		try.Do(f.Begin(len(f.Members())))
	}
	return do(f)
}

// followerShares divides 300 connections.
func followerShares(host *lab.Host, times int) (out Findings, err error) {
	defer try.Catch(&err)
	const count = 300
	for _, follows := range []bool{true, false} {
		try.Do(follow(host, follows, func(f *Follower) (err error) {
			defer try.Catch(&err)
			var most, failed float64
			for range times {
				got := try.Get(f.SampleFrom(count))
				failed += float64(count - got.Served())
				for _, n := range f.Members() {
					most = max(most, math.Abs(float64(got.ByNode[n.Label])-count/3))
				}
			}
			found := Findings{
				{What: fmt.Sprintf("%d connections over 3 members: most off by", count), Got: most, Limit: 1, Unit: "connections"},
				{What: "failed", Got: failed, Unit: "connections"},
			}
			for i := range found {
				if !follows {
					found[i].What, found[i].Limit = "without: "+found[i].What, -1
				}
			}
			out = append(out, found...)
			return nil
		}))
	}
	return out, nil
}

// deaths are what several of them came to.
type deaths struct {
	count, refused int
	noticed        time.Duration
	kept           Kept
}

func (s *deaths) add(d Death) {
	s.count++
	s.refused += len(d.FailedAt)
	s.noticed = max(s.noticed, d.Noticed)
	s.kept.add(d.Kept)
}

func (s *deaths) findings(limit time.Duration) Findings {
	return Findings{took("new connections go to the others after", s.noticed, limit)}
}

// deathWithout is what a worker sees of a member's death that does not follow.
func deathWithout(host *lab.Host, die func(*Follower, *lab.Node) (Death, error)) (seen deaths, err error) {
	err = follow(host, false, func(f *Follower) error {
		d, err := die(f, f.Members()[0])
		seen.add(d)
		return err
	})
	return seen, err
}

// followerServerDeath has the servers of all members die, one after the other: each is back before the next one goes.
func followerServerDeath(host *lab.Host, times int) (out Findings, err error) {
	defer try.Catch(&err)
	var with deaths
	for with.count < times {
		try.Do(follow(host, true, func(f *Follower) (err error) {
			defer try.Catch(&err)
			for _, n := range f.Members() {
				with.add(try.Get(f.EndServer(n)))
				try.Do(sequence(func() error { return f.ServeAgain(n) }, func() error { return f.Follows(len(f.Members())) }))
			}
			return nil
		}))
	}
	without, err := deathWithout(host, (*Follower).EndServer)
	each := float64(with.refused) / float64(max(with.count, 1))
	return append(with.findings(serverDeath),
		Measured{What: "refused until then, on average", Got: each, Limit: -1, Unit: "connections"}, told("without: after", without.noticed)), err
}

// followerNodeDeath has the node of a member die.
func followerNodeDeath(host *lab.Host, times int) (out Findings, err error) {
	defer try.Catch(&err)
	var with deaths
	for range max(times/4, 1) {
		try.Do(follow(host, true, func(f *Follower) error {
			d, err := f.EndNode(f.Members()[0])
			with.add(d)
			return err
		}))
	}
	without, err := deathWithout(host, (*Follower).EndNode)
	return append(with.findings(nodeDeath), took("connections to it are ended after", with.kept.Told, nodeDeath),
		none("of these never", with.kept.Silent), none("of the others lost", with.kept.Lost),
		told("without: after", without.noticed)), err
}

// followerKilled kills keepvip on the worker: connections go on, and new ones go to the virtual address when the kernel has forgotten the members.
func followerKilled(host *lab.Host, times int) (out Findings, err error) {
	defer try.Catch(&err)
	var kept Kept
	failed := 0
	for range max(times/10, 1) {
		try.Do(follow(host, true, func(f *Follower) (err error) {
			defer try.Catch(&err)
			h := try.Get(f.HoldFrom(30))
			s := try.Get(f.Lab.StartSampling(f.Worker.Namespace, f.Target(), eachLost))
			at := f.Lab.Now()
			try.Do(sequence(f.Process.Kill9, f.FallenThrough))
			time.Sleep(time.Second) // by the wire
			failed += len(s.Stop().FailedAt)
			kept.add(keptOf([]lab.HeldReport{h.Stop()}, nil, at))
			return nil
		}))
	}
	return Findings{
		none("lost", kept.Lost), none("new connections failed", failed), told("longest stall", kept.Stall),
	}, nil
}
