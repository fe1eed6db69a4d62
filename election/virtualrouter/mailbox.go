package virtualrouter

import (
	"slices"
	"sync"

	"github.com/keepvip/keepvip/internal/base/nudge"
)

// mailbox holds the newest advertisement of each sender until the elector takes them. A flood cannot
// fill it: it has at most maxMembers entries, and the lowest priority makes room, of equals the oldest. So routers of a
// lower priority do not displace the Active's advertisement while this process is late. Neither do those that resign: a resignation
// counts from the Active alone, and one that is lost costs an Active_Down_Interval, where a lost advertisement makes two holders.
type mailbox struct {
	arrived nudge.Signal // a level

	mu   sync.Mutex // guards list
	list []Arrival
}

func newMailbox() *mailbox {
	return &mailbox{arrived: nudge.New()}
}

func (m *mailbox) put(a Arrival) {
	m.add(a)
	m.arrived.Send()
}

func (m *mailbox) add(a Arrival) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.list, func(o Arrival) bool { return o.Source == a.Source })
	if i < 0 && len(m.list) == maxMembers {
		if i = m.lowest(); m.list[i].Advertisement.Priority > a.Advertisement.Priority {
			return
		}
	}
	if i >= 0 {
		m.list = slices.Delete(m.list, i, i+1)
	}
	m.list = append(m.list, a)
}

// lowest is the index of the first that has the lowest priority.
func (m *mailbox) lowest() int {
	low := 0
	for i := range m.list {
		if m.list[i].Advertisement.Priority < m.list[low].Advertisement.Priority {
			low = i
		}
	}
	return low
}

func (m *mailbox) take(dst []Arrival) []Arrival {
	m.mu.Lock()
	defer m.mu.Unlock()
	dst = append(dst, m.list...)
	m.list = m.list[:0]
	return dst
}
