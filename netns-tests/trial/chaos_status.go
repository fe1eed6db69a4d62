package trial

import (
	"strings"
	"sync"
	"time"
)

// claim is what a node said of an entry, as in `keepvip status -o json`.
type claim struct {
	at       time.Duration
	node     int
	entry    string
	state    string
	observed string
	holder   string
	members  []string // that it shows as active, by address, and does not name DEAF
	deaf     bool     // it names itself DEAF
	lacking  bool     // it says that addresses are missing
}

// statusWatch asks every daemon again and again what it claims.
type statusWatch struct {
	quit chan struct{}
	wait sync.WaitGroup

	mu     sync.Mutex
	claims []claim
}

const (
	// askEvery is the time between two questions to one daemon.
	askEvery = 400 * time.Millisecond
	// refuted is for how long a claim may be wrong: what a member has said is believed for 3.5 s (docs/protocol.md), and the daemon is
	// asked once in askEvery.
	refuted = 4 * time.Second
)

func watchStatus(c *Chaos) *statusWatch {
	w := &statusWatch{quit: make(chan struct{})}
	for _, n := range c.nodes {
		w.wait.Go(func() { w.follow(c, n) })
	}
	return w
}

func (w *statusWatch) follow(c *Chaos, n *chaosNode) {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		select {
		case <-w.quit:
			return
		case <-tick.C:
		}
		at := c.lab.Now()
		var s Status
		if askStatus(n.Node, askEvery, &s) != nil {
			continue // one that does not answer claims nothing
		}
		w.mu.Lock()
		for _, v := range s.VIPs {
			w.claims = append(w.claims, claim{
				at: at, node: n.ID, entry: v.Name, state: v.State, observed: v.Observed, holder: v.Holder, members: v.activeMembers(),
				deaf: namesDeaf(v.Unfit), lacking: v.Lacking != "",
			})
		}
		w.mu.Unlock()
	}
}

// namesDeaf tells whether the reason why a node is not fit is that nothing arrives there.
func namesDeaf(unfit string) bool { return strings.Contains(unfit, "DEAF") }

// activeMembers are the others that the node shows as active, and at which something arrives.
func (v VIPStatus) activeMembers() []string {
	var active []string
	for _, m := range v.Members {
		if m.State == "active" && !m.Self && !namesDeaf(m.Unfit) {
			active = append(active, m.Address)
		}
	}
	return active
}

// take returns what was claimed since it was called last.
func (w *statusWatch) take() []claim {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := w.claims
	w.claims = nil
	return taken
}

func (w *statusWatch) stop() {
	close(w.quit)
	w.wait.Wait()
}
