package health

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// httpProber asks by GET, on a new connection each time: what is to be known is whether a client that comes now is served.
// Anonymous apiservers grant only GET, not HEAD. There is no proxy and no redirect, whose health would be another's.
type httpProber struct {
	request *http.Request // written anew for each probe, never changed
	address string        // host:port
	tls     *tls.Config   // nil: plain http
	trust   *trust        // nil: the certificate is not verified
	dialer  net.Dialer
	timeout time.Duration // for the reason only; the context ends the probe
}

func newHTTPProber(cfg Config) (*httpProber, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("health: URL %q, want an absolute http or https URL", cfg.URL)
	}
	req, err := http.NewRequest(http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("health: URL %q: %w", cfg.URL, err)
	}
	req.Close = true
	req.Header.Set("User-Agent", "keepvip")
	p := &httpProber{request: req, dialer: net.Dialer{KeepAlive: -1}, timeout: cfg.Timeout}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	p.address = net.JoinHostPort(u.Hostname(), port)
	if u.Scheme == "https" {
		p.secure(cfg, u.Hostname())
	}
	return p, nil
}

// secure prepares TLS. Without a CA there is nothing to verify against: the certificate that kubeadm makes for an apiserver has
// no public issuer, and 127.0.0.1 is not among its names.
func (p *httpProber) secure(cfg Config, host string) {
	name := cfg.ServerName
	if name == "" && net.ParseIP(host) == nil {
		name = host
	}
	p.tls = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true, ServerName: name}
	if cfg.CAFile != "" {
		p.trust = newTrust(cfg.CAFile, cfg.ServerName)
		p.tls.ServerName = p.trust.name
		p.tls.VerifyConnection = p.trust.verify
	}
}

// Probe asks once and waits for the complete answer: one that never ends is none.
func (p *httpProber) Probe(ctx context.Context) Result {
	if p.trust != nil {
		if err := p.trust.refresh(); err != nil {
			return Result{Outcome: Fail, Reason: err.Error(), Hint: "the check cannot run without its CA file"}
		}
	}
	x := exchange{prober: p}
	status, err := x.run(ctx)
	if err != nil {
		return x.classify(ctx, err)
	}
	return judge(status)
}

// judge is the verdict on a complete answer.
func judge(status int) Result {
	r := Result{Outcome: Fail, Reason: strconv.Itoa(status)}
	switch {
	case status == http.StatusOK:
		r.Outcome = Pass
	case status == http.StatusUnauthorized:
		r.Outcome = Pass
		r.Hint = "the server lives but does not answer anonymously: allow anonymous users this path, or its real state stays unseen"
	case status == http.StatusForbidden:
		r.Hint = "normal for some seconds while an apiserver starts; later it means that anonymous users may not get this path"
	case status == http.StatusBadRequest:
		r.Hint = "a port that wants https answers http like this"
	case status >= 300 && status < 400:
		r.Hint = "redirects are not followed: check the place that it leads to"
	}
	return r
}
