package control

import (
	"bytes"
	"embed"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/keepvip/keepvip/internal/base/code"
)

//go:embed page
var pageFiles embed.FS

// pagePolicy has a browser load nothing from elsewhere, run no script but the page's, send nothing, and show the page in no frame.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// page is what a browser is shown, by patterns. It reads, and nothing at it changes anything. A process without a history has its status alone.
func (p Probes) page() map[string]http.Handler {
	out := map[string]http.Handler{}
	if p.Status == nil {
		return out
	}
	out["GET /status"] = guarded("application/json", &cached{keep: keepMetrics, next: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, p.Status())
	})})
	if p.History == nil {
		return out
	}
	out["GET /history"] = guarded("application/json", &cached{keep: keepMetrics, next: http.HandlerFunc(p.history)})
	out["GET /codes"] = guarded("application/json", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, code.All()) }))
	for pattern, f := range map[string][2]string{
		"GET /{$}":       {"page/index.html", "text/html; charset=utf-8"},
		"GET /page.css":  {"page/page.css", "text/css; charset=utf-8"},
		"GET /page.js":   {"page/page.js", "text/javascript; charset=utf-8"},
		"GET /render.js": {"page/render.js", "text/javascript; charset=utf-8"},
	} {
		out[pattern] = guarded(f[1], http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			text, err := pageFiles.ReadFile(f[0])
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			_, _ = w.Write(text) // an error here means that the asker has gone
		}))
	}
	return out
}

// history answers with all of it or with an error, never with a part.
func (p Probes) history(w http.ResponseWriter, _ *http.Request) {
	var all bytes.Buffer
	if err := p.History(&all); err != nil {
		http.Error(w, `{"error":"the history cannot be read, see the log"}`, http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(all.Bytes())
}

// guarded tells a browser what it may do with an answer.
func guarded(kind string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", kind)
		h.Set("Content-Security-Policy", pagePolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// namedHere refuses who asks for another name than this host's on the loopback interface: a page of somebody else whose name leads to 127.0.0.1
// could read the status in a browser on this host.
func namedHere(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err != nil && host != "localhost" {
			http.Error(w, "ask by an address or as localhost, such as http://127.0.0.1:9645/", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}
