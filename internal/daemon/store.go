package daemon

import (
	"github.com/keepvip/keepvip/internal/agent"
	"github.com/keepvip/keepvip/internal/state"
)

// store is the state directory as the agent sees it.
type store struct {
	*state.Store
}

var _ agent.Store = store{}

func (s store) Held(name string) (agent.Hold, bool) {
	h, held := s.Store.Held(name)
	return agent.Hold(h), held
}

func (s store) Hold(names []string, h agent.Hold) error { return s.Store.Hold(names, state.Hold(h)) }
