package daemon

import (
	"github.com/keepvip/keepvip/internal/instance"
	"github.com/keepvip/keepvip/internal/state"
)

// store is the state directory as the instances see it.
type store struct {
	*state.Store
}

var _ instance.Store = store{}

func (s store) Held(name string) (instance.Hold, bool) {
	h, held := s.Store.Held(name)
	return instance.Hold(h), held
}

func (s store) Hold(names []string, h instance.Hold) error { return s.Store.Hold(names, state.Hold(h)) }
