package health

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/base/lack"
	"github.com/keepvip/keepvip/internal/config"
)

// httpProber asks by GET, on a new connection each time: what is to be known is whether a client that comes now is served. Only
// a fast one asks most of its questions on a connection that it has: see reuse. Anonymous apiservers grant only GET, not HEAD. There is no proxy and no redirect, whose health would be another's.
type httpProber struct {
	request     *http.Request // never changed
	codes       []int         // healthy ones; none: see judge
	address     string        // host:port
	tls         *tls.Config   // nil: plain http
	expires     time.Time     // when the certificate expires that the server showed last
	credentials *credentials
	now         presented // in the present probe
	idle        *idleWatch
	reuse       reuse
	asked       asked
	in          *bufio.Reader
	dialer      net.Dialer
	timeout     time.Duration // for the reason only; the context ends the probe
}

var _ watcher = (*httpProber)(nil)

// HTTP makes the Prober of an HTTP or HTTPS endpoint. The error names the setting that cannot be. The files that it
// names may appear, change or vanish at any time; while one is missing the check fails.
func HTTP(h config.ListedCheck) (Prober, error) { return newHTTPProber(h) }

func newHTTPProber(h config.ListedCheck) (*httpProber, error) {
	u, err := url.Parse(h.URL)
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("health: URL %q, want an absolute http or https URL", h.URL)
	}
	req, err := http.NewRequest(http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("health: URL %q: %w", h.URL, err)
	}
	req.Header.Set("User-Agent", "keepvip")
	c, err := newCredentials(h)
	if err != nil {
		return nil, err
	}
	if u.Scheme == "http" && !c.none() {
		return nil, errors.New("health: a CA, client certificate or token for http, want an https URL")
	}
	p := &httpProber{request: req, codes: h.Codes, credentials: c, timeout: h.Timeout, idle: newIdleWatch(h.Watch)}
	p.dialer.KeepAlive, p.in = -1, bufio.NewReader(nil)
	p.address = net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme]))
	if u.Scheme == "https" {
		p.secure(h, u.Hostname())
	}
	p.reuse.fast = h.Interval > 0 && h.Interval < fastInterval
	return p, nil
}

// secure prepares TLS. Without a CA there is nothing to verify against: the certificate that kubeadm makes for an apiserver has
// no public issuer, and 127.0.0.1 is not among its names.
func (p *httpProber) secure(h config.ListedCheck, host string) {
	name := h.ServerName
	_, err := netip.ParseAddr(host) // with a zone, too
	switch {
	case name == "" && err != nil:
		name = host
	case name == "" && h.CA != "":
		name = apiserverName
	}
	p.tls = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true, ServerName: name, CurvePreferences: curves()}
	p.tls.VerifyConnection = func(cs tls.ConnectionState) error {
		if len(cs.PeerCertificates) > 0 {
			p.expires = cs.PeerCertificates[0].NotAfter
		}
		if h.CA == "" {
			return nil
		}
		return p.now.verify(cs, name)
	}
	if h.ClientCert != "" {
		p.tls.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return p.now.pair, nil }
	}
}

// curves leaves out the key exchanges that withstand quantum computers, the dearest part of a handshake. There is nothing in a probe to keep
// secret for so long: a token is worth no more than its lifetime.
func curves() []tls.CurveID {
	return []tls.CurveID{tls.X25519, tls.CurveP256, tls.CurveP384, tls.CurveP521}
}

// Watch implements [watcher]: it notices the end of an idle connection.
func (p *httpProber) Watch(ctx context.Context, changed func()) (wait func()) {
	p.reuse.allowed = true
	end := p.idle.watch(ctx, changed)
	return func() {
		p.reuse.drop()
		end()
	}
}

// Probe asks once and waits for the complete answer: one that never ends is none.
func (p *httpProber) Probe(ctx context.Context) Result {
	var err error
	if p.now, err = p.credentials.present(ctx); lack.Of(err) != "" {
		return unasked(lack.Of(err), err)
	}
	if err != nil {
		return Result{Outcome: Fail, Reason: brief(err), Hint: "the check cannot run without it"}
	}
	now := time.Now()
	if conn := p.reuse.take(now); conn != nil {
		x := exchange{prober: p, keep: true}
		if r := x.result(ctx, conn); !r.Broken || ctx.Err() != nil { // a server may close what is idle whenever it likes
			if r.Outcome == Pass {
				p.reuse.put(x.kept)
			}
			return p.settle(&x, r)
		}
	}
	idle := p.idle.wanted(now)
	x := exchange{prober: p, keep: idle || p.reuse.wanted()}
	r := x.result(ctx, nil)
	switch {
	case r.Outcome == Pass && idle && x.kept != nil:
		p.idle.adopt(x.kept, now)
	case r.Outcome == Pass:
		p.reuse.begin(x.kept, now)
	}
	return p.settle(&x, r)
}

// settle gives up what a bad probe has left, and the idle connection where it is no good any more.
func (p *httpProber) settle(x *exchange, r Result) Result {
	r.Expires = p.expires
	if r.Outcome != Pass && x.kept != nil {
		_ = x.kept.Close() // only asked whether it would be good
	}
	switch {
	case r.Outcome == Down:
		p.idle.drop(false)
	case x.timedOut:
		p.idle.drop(true)
	}
	return r
}

// judge is the verdict on a complete answer.
func (p *httpProber) judge(a answer) Result {
	r := Result{Outcome: Fail, Reason: strconv.Itoa(a.status)}
	if len(p.codes) > 0 {
		if slices.Contains(p.codes, a.status) {
			r.Outcome = Pass
		}
		return explain(r, a)
	}
	switch {
	case a.status == http.StatusOK:
		r.Outcome = Pass
	case a.status == http.StatusUnauthorized && p.credentials.anonymous():
		r.Outcome = Pass
		r.Hint = "the server lives but does not answer anonymously: allow anonymous users this path, or its real state stays unseen"
	case a.status == http.StatusUnauthorized:
		r.Hint = "the server does not accept the check's certificate or token"
	case a.status == http.StatusForbidden:
		r.Hint = "normal for some seconds while an apiserver starts; later it means that anonymous users may not get this path"
	}
	return explain(r, a)
}

// explain adds what a bad status means.
func explain(r Result, a answer) Result {
	if r.Outcome != Pass {
		r.Code = code.CheckStatus
	}
	switch {
	case r.Outcome == Pass || r.Hint != "":
	case a.status == http.StatusBadRequest:
		r.Hint = "a port that wants https answers http like this"
	case a.status >= 300 && a.status < 400:
		r.Hint = "redirects are not followed: check the place that it leads to"
	case a.status == http.StatusInternalServerError:
		return explainParts(r, a.body)
	}
	return r
}
