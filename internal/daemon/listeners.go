package daemon

import (
	"log/slog"
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

// keep closes those of links that are gone.
func (l *listeners) keep(links []link.Link) {
	for _, one := range l.take(func(index int) bool {
		return !slices.ContainsFunc(links, func(k link.Link) bool { return k.Index == index })
	}) {
		one.Close()
	}
}

// close closes all, and waits for their goroutines.
func (l *listeners) close() {
	for _, one := range l.take(func(int) bool { return true }) {
		one.Close()
	}
}

func (l *listeners) take(which func(index int) bool) []*arp.Listener {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []*arp.Listener
	for index, one := range l.open {
		if which(index) {
			out = append(out, one)
			delete(l.open, index)
		}
	}
	return out
}
