package daemon

import (
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"

	"github.com/keepvip/keepvip/arp"
	"github.com/keepvip/keepvip/internal/agent"
	"github.com/keepvip/keepvip/internal/link"
)

// listeners shares what hears claims on a link among all instances there.
type listeners struct {
	log *slog.Logger

	mu   sync.Mutex // guards open
	open map[int]*arp.Listener
}

func newListeners(log *slog.Logger) *listeners {
	return &listeners{log: log, open: map[int]*arp.Listener{}}
}

// at is the listener of a link.
func (l *listeners) at(p agent.Place) *arp.Listener {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one, ok := l.open[p.Index]; ok {
		return one
	}
	one := arp.NewListener(&net.Interface{Index: p.Index, Name: p.Name}, func(err error) {
		l.log.Debug("claims of others are not heard", "interface", p.Name, "error", err)
	})
	l.open[p.Index] = one
	return one
}

// keep closes those of links that are gone, and waits for their goroutines.
func (l *listeners) keep(links []link.Link) {
	var gone []*arp.Listener
	l.mu.Lock()
	maps.DeleteFunc(l.open, func(index int, one *arp.Listener) bool {
		if slices.ContainsFunc(links, func(k link.Link) bool { return k.Index == index }) {
			return false
		}
		gone = append(gone, one)
		return true
	})
	l.mu.Unlock()
	for _, one := range gone {
		one.Close()
	}
}

// close closes all.
func (l *listeners) close() { l.keep(nil) }
