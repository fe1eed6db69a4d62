package virtualrouter

import (
	"slices"
	"sync"
)

// mailbox holds the newest advertisement of each sender until the elector takes them. A flood cannot
// fill it: it has at most maxMembers entries, and the oldest makes room.
type mailbox struct {
	arrived chan struct{} // capacity 1: a level

	mu   sync.Mutex // guards list
	list []Arrival
}

func newMailbox() *mailbox {
	return &mailbox{arrived: make(chan struct{}, 1)}
}

func (m *mailbox) put(a Arrival) {
	m.add(a)
	select {
	case m.arrived <- struct{}{}:
	default:
	}
}

func (m *mailbox) add(a Arrival) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.list, func(o Arrival) bool { return o.Source == a.Source })
	if i < 0 && len(m.list) == maxMembers {
		i = 0
	}
	if i >= 0 {
		m.list = slices.Delete(m.list, i, i+1)
	}
	m.list = append(m.list, a)
}

func (m *mailbox) take(dst []Arrival) []Arrival {
	m.mu.Lock()
	defer m.mu.Unlock()
	dst = append(dst, m.list...)
	m.list = m.list[:0]
	return dst
}
