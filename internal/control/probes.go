package control

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Probes is what the loopback listener answers with. Its functions are called from several goroutines.
type Probes struct {
	Live    func() error // nil: this process works
	Ready   func() error // nil: it takes part in every election
	Metrics http.Handler
}

// Listener serves /livez, /readyz and /metrics. None of them depends on an apiserver.
type Listener struct {
	ln   net.Listener
	http *http.Server
}

// Listen opens the listener at a "host:port".
func Listen(addr string, p Probes) (*Listener, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("control: metrics listener: %w; choose another --metrics, or \"off\"", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", probe(p.Live))
	mux.HandleFunc("GET /readyz", probe(p.Ready))
	mux.Handle("GET /metrics", p.Metrics)
	return &Listener{ln: ln, http: &http.Server{
		Handler: mux, ReadTimeout: 10 * time.Second, ReadHeaderTimeout: 5 * time.Second,
		WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
	}}, nil
}

// Serve answers until ctx ends.
func (l *Listener) Serve(ctx context.Context) error { return serve(ctx, l.http, l.ln) }

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
