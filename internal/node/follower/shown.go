package follower

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/keepvip/keepvip/internal/base/places"
	"github.com/keepvip/keepvip/internal/node/door"
	"github.com/keepvip/keepvip/internal/node/metrics"
	"github.com/keepvip/keepvip/internal/node/reloads"
)

// shown is what others see of a process. Any goroutine may ask.
type shown struct {
	current atomic.Pointer[follower] // nil: none yet
	reloads reloads.Record
	socket  *door.Door // nil: none
	metrics *door.Door // nil: none
}

// doors are those that there are.
func (s *shown) doors() []*door.Door {
	return slices.DeleteFunc([]*door.Door{s.socket, s.metrics}, func(d *door.Door) bool { return d == nil })
}

var errNotBegun = errors.New("the follower has not begun")

// status is the newest one, or why there is none.
func (s *shown) status() (Status, error) {
	f := s.current.Load()
	if f == nil {
		return Status{}, errNotBegun
	}
	out, err := f.Status()
	out.Config = s.reloads.Status()
	if s.metrics != nil {
		out.Metrics = s.metrics.Status()
	}
	return out, err
}

// listeners is how the listeners fare that are wanted.
func (s *shown) listeners() (out []metrics.Listening) {
	for _, d := range s.doors() {
		if st := d.Status(); st != nil {
			c := places.Count{Most: st.Places, Taken: st.Connections, Lost: st.Lost}
			out = append(out, metrics.Listening{Name: st.Option, Up: st.Problem == "", Places: &c})
		}
	}
	if st, err := s.status(); err == nil && st.Listener != nil {
		c := places.Count{Most: st.Listener.Places, Taken: st.Listener.Connections, Lost: st.Listener.Lost}
		out = append(out, metrics.Listening{Name: "follow.listen", Up: st.Listener.Problem == "", Places: &c})
	}
	return out
}

// answer is what `keepvip status` is answered.
func (s *shown) answer() any {
	out, err := s.status()
	switch {
	case errors.Is(err, errNotBegun):
		return Status{Follows: []EntryStatus{}}
	case err != nil:
		f := s.current.Load()
		return Status{Version: f.process.Version, Node: f.process.Node, Config: s.reloads.Status(), Follows: []EntryStatus{{Problem: err.Error()}}}
	}
	return out
}

// live is an error when the loop is stuck: only a new process could help.
func (s *shown) live() error {
	if f := s.current.Load(); f != nil {
		return f.stuck()
	}
	return nil
}

// ready is an error while connections do not go where the members say: then no other host should be given the same configuration yet.
func (s *shown) ready() error {
	out, err := s.status()
	if err != nil {
		return err
	}
	for _, e := range out.Follows {
		switch {
		case e.Problem != "":
			return fmt.Errorf("%s: %s", e.Name, e.Problem)
		case len(e.By) == 0:
			return fmt.Errorf("%s: no member says who the members are", e.Name)
		}
	}
	return nil
}

// pulse says in a line how it goes, or that the loop is stuck.
func (s *shown) pulse() (string, error) {
	if err := s.live(); err != nil {
		return "", err
	}
	out, err := s.status()
	if err != nil {
		return "", err
	}
	return out.line(), nil
}
