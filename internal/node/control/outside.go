package control

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// Outside is how other hosts are answered. The zero Outside answers all of them, in plain HTTP.
type Outside struct {
	Certificate string                 // file in PEM; "": plain HTTP
	PrivateKey  string                 // file in PEM; "": it is in Certificate
	Token       func() (string, error) // the bearer token to show, asked for at each request; nil: none. An error: nobody is answered
	// Refuse tells addresses of this host at which nobody is answered, such as virtual ones; nil: none.
	Refuse func(netip.Addr) bool
	Page   bool // other hosts are shown the page, the status and the history as well
	Log    *slog.Logger
}

const (
	// outsidePlaces, outsideBudget (of one host in a second) and allOutsideBudget (of all of them) are for a few scrapers. A handshake costs
	// some milliseconds with a long RSA key.
	outsidePlaces    = 16
	outsideBudget    = 20
	allOutsideBudget = 60
)

// placesOf are where to listen for what is configured: on the loopback interface in any case, where this host asks. That has a socket of its
// own: connections from elsewhere that wait to be accepted leave no room behind them for the kubelet's.
func placesOf(addr string) ([]string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("control: listen: %w", err)
	}
	a, err := netip.ParseAddr(host)
	if err != nil || a.IsLoopback() {
		return []string{addr}, nil
	}
	all := []string{addr, net.JoinHostPort("127.0.0.1", port)}
	if a.Is6() && a.IsUnspecified() {
		all = append(all, net.JoinHostPort("::1", port))
	}
	return all, nil
}

// freeBind has the kernel listen at an address that this host does not have yet: at boot it may come later than keepvip.
func freeBind(network, _ string, c syscall.RawConn) error {
	level, option := unix.SOL_IP, unix.IP_FREEBIND
	if strings.HasSuffix(network, "6") {
		level, option = unix.SOL_IPV6, unix.IPV6_FREEBIND
	}
	var failed error
	err := c.Control(func(fd uintptr) { failed = unix.SetsockoptInt(int(fd), level, option, 1) })
	return cmp.Or(err, failed)
}

// sharePort has the sockets of one listener share its port: that of all addresses, and those of the loopback interface, which the kernel
// prefers there, and of which each address may have several. It lets others of the same user in, too.
func sharePort(network, address string, c syscall.RawConn) error {
	var failed error
	err := c.Control(func(fd uintptr) { failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) })
	return cmp.Or(err, failed, freeBind(network, address, c))
}

// networkOf is that of an address to listen at: 0.0.0.0 is of IPv4 alone, which "tcp" would take for all addresses of both families.
func networkOf(at string) string {
	if a, err := netip.ParseAddrPort(at); err == nil && a.Addr().Is4() {
		return "tcp4"
	}
	return "tcp"
}

// listenAll listens at all of them, with several sockets at each. Somebody else at one of them is an error. Port 0 is one that the kernel chooses
// for all.
func listenAll(where []string) (lns []net.Listener, err error) {
	first, _ := netip.ParseAddrPort(where[0])
	overlap := first.Addr().IsUnspecified() // the others are among these
	for i, at := range where {
		if i > 0 && first.Port() == 0 && first.IsValid() {
			host, _, _ := net.SplitHostPort(at)
			_, port, _ := net.SplitHostPort(lns[0].Addr().String())
			at = net.JoinHostPort(host, port)
		}
		if i == 0 || !overlap {
			err = isFree(at)
		}
		var more []net.Listener
		if err == nil {
			more, err = listenAt(at)
		}
		if err != nil {
			closeAll(lns)
			return nil, err
		}
		lns = append(lns, more...)
	}
	return lns, nil
}

// isFree is an error where somebody listens already. Sockets that share an address would not notice one of the same user.
func isFree(at string) error {
	lc := net.ListenConfig{Control: freeBind}
	ln, err := lc.Listen(context.Background(), networkOf(at), at)
	if err != nil {
		return err
	}
	return ln.Close()
}

// listenAt listens with several sockets, which share the address.
func listenAt(at string) ([]net.Listener, error) {
	lc := net.ListenConfig{KeepAlive: -1, Control: sharePort} // no connection lasts long enough to be kept alive
	lc.SetMultipathTCP(false)                                 // its sockets take no filter
	if host, _, err := net.SplitHostPort(at); err == nil {
		if a, err := netip.ParseAddr(host); err == nil && !a.IsLoopback() {
			return listenApart(lc, networkOf(at), at)
		}
	}
	ln, err := listenQueues(lc, networkOf(at), at, localQueues)
	return []net.Listener{ln}, err
}

func closeAll(lns []net.Listener) {
	for _, ln := range lns {
		_ = ln.Close()
	}
}

// isLocal tells whether a connection that ends at this address begins on this host.
func isLocal(at net.Addr) bool {
	a, ok := at.(*net.TCPAddr)
	return !ok || a.IP.IsLoopback()
}

func isOutside(c net.Conn) bool { return !isLocal(c.LocalAddr()) }

func (o Outside) refuses(c net.Conn) bool {
	at, ok := c.LocalAddr().(*net.TCPAddr)
	return ok && o.Refuse != nil && o.Refuse(at.AddrPort().Addr().Unmap().WithZone(""))
}

// guard speaks TLS with other hosts, if there is a certificate.
func (o Outside) guard(ln net.Listener) net.Listener {
	if o.Certificate == "" {
		return ln
	}
	c := newCertificate(o.Certificate, cmp.Or(o.PrivateKey, o.Certificate), o.Log)
	return &tlsOutside{Listener: ln, config: &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: c.get, SessionTicketsDisabled: true,
	}}
}

// tlsOutside speaks TLS where a connection comes from another host.
type tlsOutside struct {
	net.Listener
	config *tls.Config
}

// Accept implements net.Listener.
func (l *tlsOutside) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil || !isOutside(c) {
		return c, err
	}
	return tls.Server(c, l.config), nil
}

// authorized lets through who shows the token. To compare takes the same time for every other one, whatever it begins with.
func (o Outside) authorized(next http.Handler) http.Handler {
	if o.Token == nil {
		return next
	}
	var told atomic.Pointer[string] // why the token could not be read, as far as the log has it
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		want, err := o.Token()
		if err != nil {
			text := err.Error()
			if was := told.Swap(&text); was == nil || *was != text {
				o.Log.Warn("no other host is told the metrics: their token cannot be read", "error", err)
			}
			http.Error(w, "this node cannot read its token, see its log", http.StatusServiceUnavailable)
			return
		}
		told.Store(nil)
		shown, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		a, b := sha256.Sum256([]byte(shown)), sha256.Sum256([]byte(want))
		if !bearer || subtle.ConstantTimeCompare(a[:], b[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "the bearer token of metrics.tokenFile is needed", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// atOf is the address of this host at which a request arrived; nil where it is not known.
func atOf(ctx context.Context) net.Addr {
	at, _ := ctx.Value(http.LocalAddrContextKey).(net.Addr)
	return at
}
