package daemon

import (
	"errors"
	"log/slog"
	"maps"
	"net"
	"sync"

	"github.com/keepvip/keepvip/arp"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// arpSockets shares what announces and what hears claims on a link among all instances there.
type arpSockets struct {
	log *slog.Logger

	mu        sync.Mutex // guards what follows
	conns     map[int]*arp.Conn
	listeners map[int]*arp.Listener
}

func newARPSockets(log *slog.Logger) *arpSockets {
	return &arpSockets{log: log, conns: map[int]*arp.Conn{}, listeners: map[int]*arp.Listener{}}
}

// say has something said on a link.
func (s *arpSockets) say(p instance.Place, what func(*arp.Conn) error) error {
	c, err := s.conn(p)
	if err != nil {
		return err
	}
	err = what(c)
	if errors.Is(err, arp.ErrGone) {
		s.keep(func(index int) bool { return index != p.Index })
	}
	return err
}

func (s *arpSockets) conn(p instance.Place) (*arp.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.conns[p.Index]; ok {
		return c, nil
	}
	c, err := arp.Open(&net.Interface{Index: p.Index, Name: p.Name})
	if err == nil {
		s.conns[p.Index] = c
	}
	return c, err
}

// listener is the one of a link.
func (s *arpSockets) listener(p instance.Place) *arp.Listener {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listeners[p.Index] == nil {
		s.listeners[p.Index] = arp.NewListener(&net.Interface{Index: p.Index, Name: p.Name}, func(err error) {
			s.log.Debug("claims of others are not heard", "interface", p.Name, "error", err)
		})
	}
	return s.listeners[p.Index]
}

// keep closes those of other links, and waits for their goroutines.
func (s *arpSockets) keep(link func(index int) bool) {
	var gone []*arp.Listener
	s.mu.Lock()
	maps.DeleteFunc(s.conns, func(index int, c *arp.Conn) bool {
		if !link(index) {
			_ = c.Close() // of an interface that is gone
		}
		return !link(index)
	})
	maps.DeleteFunc(s.listeners, func(index int, l *arp.Listener) bool {
		if !link(index) {
			gone = append(gone, l)
		}
		return !link(index)
	})
	s.mu.Unlock()
	for _, l := range gone { // their claims ask the host
		l.Close()
	}
}
