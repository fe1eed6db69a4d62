package daemon

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/keepvip/keepvip/internal/check/health"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// candidate tells whether this node may hold the addresses of v: one without a list may, wherever it runs.
func (o ownLinks) candidate(v config.VIP) bool {
	if len(v.Candidates) == 0 {
		return true
	}
	_, own := o.among(v.Candidates)
	return own
}

// sendsOnly tells whether this node sends on what it receives for v, and serves nothing: it is a candidate, and not among the members that
// serve. known is false as long as that cannot be told, as of a node that has no address yet.
func (o ownLinks) sendsOnly(v config.VIP) (yes, known bool) {
	if v.Spread.Via == config.ViaOff || len(v.Candidates) == 0 || len(v.Spread.Members) == 0 {
		return false, true
	}
	if _, serves := o.among(v.Spread.Members); serves {
		return false, true
	}
	_, yes = o.among(v.Candidates)
	return yes, yes
}

// namesSenders tells whether a node may be one that sends on, and serves nothing.
func namesSenders(cfg *config.Config) bool {
	return slices.ContainsFunc(cfg.VIPs, func(v config.VIP) bool { return len(v.Candidates) > 0 && len(v.Spread.Members) > 0 })
}

// asked are those of the checks of v that this node is asked.
func (o ownLinks) asked(v config.VIP, list []NamedCheck) []NamedCheck {
	if yes, _ := o.sendsOnly(v); !yes {
		return list
	}
	return slices.DeleteFunc(list, asksService)
}

// asksService tells whether a check is about what a node serves, and not about the node.
func asksService(c NamedCheck) bool {
	return c.kind != config.CheckGateway && c.kind != config.CheckInterface
}

// whereServed is a check of v that only nodes are asked that serve something.
func (s *seen) whereServed(v config.VIP, c NamedCheck, check instance.Check) instance.Check {
	if len(v.Candidates) == 0 || len(v.Spread.Members) == 0 || !asksService(c) {
		return check
	}
	if yes, _ := s.now().own.sendsOnly(v); yes {
		check.ID += " is not asked" // another one when this node begins to serve
	}
	one := &spared{check: check, sendsOnly: func() (bool, bool) { return s.now().own.sendsOnly(v) }}
	check.Run, check.Verdict, check.Fresh = one.run, one.verdict, one.fresh
	return check
}

// spared is a check that is not made where nothing is served: it is as good as it can be.
type spared struct {
	check     instance.Check
	sendsOnly func() (yes, known bool)
	since     atomic.Int64 // Unix nanoseconds from which on it is not made; 0: it is, as far as known
}

// notAsked is the reason of its verdict.
const notAsked = "not asked: this node sends on what it receives, and serves nothing"

func (s *spared) run(ctx context.Context, report func(health.Verdict)) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		yes, known := s.sendsOnly()
		switch {
		case yes:
			s.since.Store(time.Now().UnixNano())
			report(s.verdict())
			<-ctx.Done()
			return
		case known:
			s.check.Run(ctx, report)
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (s *spared) verdict() health.Verdict {
	since := s.since.Load()
	if since == 0 {
		return s.check.Verdict()
	}
	return health.Verdict{State: health.Healthy, Reason: notAsked, Since: time.Unix(0, since)}
}

func (s *spared) fresh(ctx context.Context) health.Verdict {
	if s.since.Load() == 0 {
		return s.check.Fresh(ctx)
	}
	return s.verdict()
}

// strange refuses a list that says nothing of this node, where one would have to.
func strange(v config.VIP, link, own string) error {
	want := "want it there, the same list on all nodes"
	if len(v.Candidates) > 0 {
		want = "and none of candidates; want it in one of them, the same lists on all nodes"
	}
	return fmt.Errorf("vips[%s].spread.members: none of them is this node's on %s (%s), %s", v.Name, link, own, want)
}
