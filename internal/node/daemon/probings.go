package daemon

import (
	"fmt"
	"sync"
	"weak"

	"github.com/keepvip/keepvip/internal/check/health"
	"github.com/keepvip/keepvip/internal/config"
)

// probings are the probes of a daemon, by what they ask: entries that ask the same have it asked once, as keepalived runs a script once for all
// instances that track it. A probe is forgotten when no check has it any more. The nil probings share nothing.
type probings struct {
	mu sync.Mutex // guards by
	by map[string]weak.Pointer[health.Probing]
}

func newProbings() *probings { return &probings{by: map[string]weak.Pointer[health.Probing]{}} }

// of is the probe that asks this, which fresh makes where there is none.
func (s *probings) of(asks string, fresh func() (*health.Probing, error)) (*health.Probing, error) {
	if s == nil {
		return fresh()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.by[asks].Value(); p != nil {
		return p, nil
	}
	for asked, p := range s.by {
		if p.Value() == nil {
			delete(s.by, asked)
		}
	}
	p, err := fresh()
	if err == nil {
		s.by[asks] = weak.Make(p)
	}
	return p, err
}

// asks tells what a check of v asks, and how often, each word of a command quoted. How it is called and how its results count is left out: that
// may differ where one probe does.
func asks(v config.VIP, h config.ListedCheck) string {
	if !h.Number { // the weight of a numbered one bounds what its result may be
		h.Weight = 0
	}
	h.Name, h.Rise, h.Fall, h.InitFail, h.Counts = "", 0, 0, false, ""
	whose := madeFor(v, h)
	if whose != "" {
		whose = v.Name + " " + whose
	}
	return fmt.Sprintf("%#v %s", h, whose)
}
