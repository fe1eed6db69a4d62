package lab

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// WatchServer is a stand-in for an apiserver that is watched: an HTTP/2 server of one node whose every answer lasts, and says something
// each watchEvery. It notes who asked, as an audit log does.
type WatchServer struct {
	node *Node
	// Close ends the server and its connections.
	Close func()

	mu    sync.Mutex
	audit []netip.AddrPort
}

// watchEvery is the time from one event to the next.
const watchEvery = 50 * time.Millisecond

// StartWatchServer listens on the node's own two addresses. It ends with the lab, or by [WatchServer.Close].
func (n *Node) StartWatchServer(port uint16) (_ *WatchServer, err error) {
	defer try.Say(&err, "lab: watch server on %s", n.Label)
	cert := try.Get(selfSigned())
	s := &WatchServer{node: n}
	var listeners []net.Listener
	for _, a := range []netip.Addr{n.Address, n.Addr6} {
		listeners = append(listeners, try.Get(n.Listen(netip.AddrPortFrom(a, port).String())))
	}
	s.Close = serveHTTP(&http.Server{Handler: s, TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}}, ReadHeaderTimeout: time.Minute}, listeners...)
	n.lab.atEnd(s.Close)
	return s, nil
}

func (s *WatchServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	client, _ := netip.ParseAddrPort(r.RemoteAddr)
	s.mu.Lock()
	s.audit = append(s.audit, netip.AddrPortFrom(client.Addr().Unmap(), client.Port()))
	s.mu.Unlock()
	w.Header().Set("X-Node", s.node.Label)
	for i := 0; i == 0 || pauseFor(r.Context(), watchEvery); i++ {
		_, err := fmt.Fprintf(w, "{\"type\":\"MODIFIED\",\"object\":{\"data\":{\"n\":\"%d\"}}}\n", i)
		if err != nil || http.NewResponseController(w).Flush() != nil {
			return
		}
	}
}

// Audit are the clients of all requests so far, as the server saw them.
func (s *WatchServer) Audit() []netip.AddrPort {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.audit)
}

// serveHTTP serves until end is called, over TLS if the server has a configuration of that.
func serveHTTP(server *http.Server, listeners ...net.Listener) (end func()) {
	var wait sync.WaitGroup
	for _, l := range listeners {
		if server.TLSConfig != nil {
			wait.Go(func() { _ = server.ServeTLS(l, "", "") })
		} else {
			wait.Go(func() { _ = server.Serve(l) })
		}
	}
	return func() {
		_ = server.Close()
		wait.Wait()
	}
}
