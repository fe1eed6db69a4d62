package control

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"

	"github.com/keepvip/keepvip/internal/base/places"
)

const (
	// PathHealth asks about all virtual addresses; with a slash and a name behind it, about one.
	PathHealth = "/healthz"
	// healthBudget, of one host in a second, is for a balancer that has a pool for each of many virtual addresses.
	healthBudget = 200
)

// Health is what balancers are answered. Its functions are called from several goroutines.
type Health struct {
	// Names are the virtual addresses that there are.
	Names func() []string
	// Fit is why this node should not get connections to the virtual address of that name; nil: it should.
	Fit func(name string) error
	// Refuse tells addresses of this host at which nobody is answered, such as virtual ones; nil: none.
	Refuse func(netip.Addr) bool
	// Owner is as in Probes.
	Owner places.Asker
}

// ListenHealth opens the listener for balancers at a "host:port".
func ListenHealth(addr string, h Health) (*Listener, error) {
	l := &Listener{http: &http.Server{Handler: h.handler(), ReadTimeout: probeTime / 2, WriteTimeout: probeTime, MaxHeaderBytes: 4 << 10}}
	where, err := placesOf(addr)
	if err != nil {
		return nil, err
	}
	lns, err := listenAll(where)
	if err != nil {
		return nil, fmt.Errorf("control: health listener: %w; choose another --health, or \"off\"", err)
	}
	for _, ln := range lns {
		here := newBounded(probePlaces, &bounded{
			Listener: ln, turns: places.Turns{Of: probeBreath, Least: probeTurn}, budget: healthBudget,
			owner: func(c net.Conn) string { return places.OwnerOf(c, h.Owner) }, refuse: Outside{Refuse: h.Refuse}.refuses,
		})
		l.lns, l.bounds = append(l.lns, here), append(l.bounds, here)
	}
	return l, nil
}

// Close closes a listener that does not serve.
func (l *Listener) Close() { closeAll(l.lns) }

func (h Health) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+PathHealth, probe(func() error {
		for _, name := range h.Names() {
			if err := h.Fit(name); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	}))
	mux.HandleFunc("GET "+PathHealth+"/{name}", func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("name")
		for _, known := range h.Names() {
			if known == name {
				probe(func() error { return h.Fit(name) })(w, r)
				return
			}
		}
		http.Error(w, "no virtual address has this name", http.StatusNotFound)
	})
	return mux
}
