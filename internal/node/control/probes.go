package control

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/keepvip/keepvip/internal/base/places"
)

// Probes is what the listener answers with. Its functions are called from several goroutines.
type Probes struct {
	Live    func() error // nil: this process works
	Ready   func() error // nil: it takes part in every election
	Metrics http.Handler // asked at most once in keepMetrics
	// Status, encoded as JSON, and History, which writes JSON, are for the page, and asked as seldom as Metrics. nil: there is none.
	Status  func() any
	History func(io.Writer) error
	// Owner names the user of this host at the other end of a connection; nil: all users of this host are one. Each has places and a budget of its own.
	Owner places.Asker
	// Outside is for other hosts. They are told Metrics and nothing else, unless the page is for them, too.
	Outside Outside
}

const (
	// probePlaces and probeBudget are for probes and scrapes, of which there are a few in a second.
	probePlaces = 64
	probeBudget = 50
	// probeBreath and probeTurn, 6,400 in a second, are a compromise: a flood keeps some four thousand connections waiting to be
	// accepted, and a probe of the kubelet, which comes after them, has to be answered within a second; each of them costs some
	// 60 microseconds.
	probeBreath = 16
	probeTurn   = 2500 * time.Microsecond
	// probeTime bounds one connection, which is for one request.
	probeTime = 5 * time.Second
	// keepMetrics is how long metrics are served that were made once.
	keepMetrics = 500 * time.Millisecond
)

// Listener serves /livez, /readyz, /metrics and the page on the loopback interface, and /metrics elsewhere. None of them depends on an apiserver.
type Listener struct {
	lns    []net.Listener
	bounds []*bounded // of lns
	http   *http.Server
}

// Count is how it stands with the places at all its addresses together.
func (l *Listener) Count() (all places.Count) {
	for _, p := range l.bounds {
		c := p.count()
		all.Most, all.Taken, all.Lost = all.Most+c.Most, all.Taken+c.Taken, all.Lost+c.Lost
	}
	return all
}

// Listen opens the listener at a "host:port". Where that is an address of the node it listens on the loopback interface, too.
func Listen(addr string, p Probes) (*Listener, error) {
	where, err := placesOf(addr)
	if err != nil {
		return nil, err
	}
	l := &Listener{http: &http.Server{Handler: p.handler(), ReadTimeout: probeTime / 2, WriteTimeout: probeTime, MaxHeaderBytes: 4 << 10}}
	lns, err := listenAll(where)
	if err != nil {
		return nil, fmt.Errorf("control: metrics listener: %w; choose another --metrics, or \"off\"", err)
	}
	for _, ln := range lns {
		here := newBounded(probePlaces, &bounded{
			Listener: ln, turns: places.Turns{Of: probeBreath, Least: probeTurn}, budget: probeBudget, owner: func(c net.Conn) string { return places.OwnerOf(c, p.Owner) },
			outside: isOutside, refuse: p.Outside.refuses,
		})
		l.lns, l.bounds = append(l.lns, p.Outside.guard(here)), append(l.bounds, here)
	}
	return l, nil
}

// handler tells this host everything, and others the metrics, and the page where that is wanted.
func (p Probes) handler() http.Handler {
	metrics := &cached{next: p.Metrics, keep: keepMetrics}
	here, outside := http.NewServeMux(), http.NewServeMux()
	here.HandleFunc("GET /livez", probe(p.Live))
	here.HandleFunc("GET /readyz", probe(p.Ready))
	here.Handle("GET /metrics", metrics)
	outside.Handle("GET /metrics", p.Outside.authorized(metrics))
	page := p.page()
	for pattern, h := range page {
		here.Handle(pattern, namedHere(h))
	}
	if p.Outside.Page {
		for pattern, h := range page {
			outside.Handle(pattern, p.Outside.authorized(h))
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if at := atOf(r.Context()); at != nil && isLocal(at) {
			here.ServeHTTP(w, r)
			return
		}
		outside.ServeHTTP(w, r)
	})
}

// Serve answers until ctx ends.
func (l *Listener) Serve(ctx context.Context) error { return serve(ctx, l.http, l.lns...) }

func probe(check func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if err := check(); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = fmt.Fprintln(w, err)
			return
		}
		_, _ = fmt.Fprintln(w, "ok")
	}
}
