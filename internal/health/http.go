package health

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"time"
)

const (
	// An apiserver's verbose answer is about 3 KiB. More is an answer from something else, or from something that is not well.
	maxBody   = 64 << 10
	maxHeader = 16 << 10
)

// httpProber asks by GET, on a new connection each time: what is to be known is whether a client that comes now is served.
// Anonymous apiservers grant only GET, not HEAD.
type httpProber struct {
	url    string
	client *http.Client
	trust  *trust // nil: not verified
}

func newHTTPProber(cfg Config) (*httpProber, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("health: URL %q, want an absolute http or https URL", cfg.URL)
	}
	p := &httpProber{url: u.String()}
	// Without a CA there is nothing to verify against: an apiserver's certificate has neither 127.0.0.1 nor a public issuer.
	tlsConfig := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true, ServerName: cfg.ServerName}
	if cfg.CAFile != "" {
		p.trust = newTrust(cfg.CAFile, cfg.ServerName)
		tlsConfig.VerifyConnection = p.trust.verify
	}
	p.client = &http.Client{
		Transport: &http.Transport{
			Proxy:                  nil, // a proxy's health is not the service's
			DialContext:            (&net.Dialer{KeepAlive: -1}).DialContext,
			TLSClientConfig:        tlsConfig,
			DisableKeepAlives:      true,
			DisableCompression:     true, // a small body must not unfold into a large one
			MaxResponseHeaderBytes: maxHeader,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return p, nil
}

// Probe asks once. A body is read, because an answer that never ends is none, and thrown away.
func (p *httpProber) Probe(ctx context.Context) Result {
	if p.trust != nil {
		if err := p.trust.refresh(); err != nil {
			return Result{Outcome: Fail, Reason: err.Error(), Hint: "the check cannot run without its CA file"}
		}
	}
	start := time.Now()
	at := &progress{}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, at.trace()), http.MethodGet, p.url, nil)
	if err != nil {
		return Result{Outcome: Fail, Reason: err.Error()}
	}
	req.Header.Set("User-Agent", "keepvip")
	resp, err := p.client.Do(req)
	if err != nil {
		return classify(err, at, time.Since(start))
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, io.LimitReader(resp.Body, maxBody+1))
	switch {
	case err != nil:
		return classify(err, at, time.Since(start))
	case n > maxBody:
		return Result{Outcome: Fail, Reason: fmt.Sprintf("%d with a body of more than %d bytes", resp.StatusCode, maxBody)}
	}
	return judge(resp.StatusCode)
}

// judge is the verdict on a complete answer.
func judge(status int) Result {
	r := Result{Outcome: Fail, Reason: strconv.Itoa(status)}
	switch {
	case status == http.StatusOK:
		r.Outcome = Pass
	case status == http.StatusUnauthorized:
		r.Outcome = Pass
		r.Hint = "the server lives but does not answer anonymously: allow /readyz to anonymous users, or its real state stays unseen"
	case status == http.StatusForbidden:
		r.Hint = "normal for some seconds while an apiserver starts; later it means that anonymous users may not get this path"
	case status == http.StatusBadRequest:
		r.Hint = "an https port that is asked by http answers so"
	case status >= 300 && status < 400:
		r.Hint = "redirects are not followed: check the path that it leads to"
	}
	return r
}

// errHeader is how net/http names a header that exceeds the limit; it has no sentinel.
func classify(err error, at *progress, took time.Duration) Result {
	r := Result{Outcome: Fail}
	var network net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		r.Reason = fmt.Sprintf("timeout after %v %s", took.Round(10*time.Millisecond), at.phase())
	default:
		classifyBroken(&r, err, at)
	}
	return r
}
