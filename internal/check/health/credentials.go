package health

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/keepvip/keepvip/internal/config"
)

// apiserverName is in the certificate of every apiserver, while 127.0.0.1 is not in kubeadm's.
const apiserverName = "kubernetes"

// maxToken bounds a bearer token; those of service accounts have about 1 KiB.
const maxToken = 16 << 10

// credentials are the files that a check needs. They may come later than we do (kubeadm init writes them), change and vanish.
// While one cannot be used the check fails: silently trusting anybody would be wrong.
type credentials struct {
	ca        *watchedFile[*x509.CertPool] // nil: the server is not verified
	cert, key *watchedFile[[]byte]         // nil: no client certificate
	token     *watchedFile[string]         // nil: no token
	pair      *tls.Certificate
	call      patient[presented]
}

// presented is what one probe works with.
type presented struct {
	pool  *x509.CertPool
	pair  *tls.Certificate
	token string
	err   error
}

func newCredentials(h config.ListedCheck) (*credentials, error) {
	raw := func(what, path string) *watchedFile[[]byte] {
		return &watchedFile[[]byte]{what: what, path: path, parse: func(b []byte) ([]byte, error) { return b, nil }}
	}
	c := &credentials{}
	if h.CA != "" {
		c.ca = &watchedFile[*x509.CertPool]{what: "CA file", path: h.CA, parse: parsePool}
	}
	if h.ClientCert != "" {
		c.cert, c.key = raw("client certificate", h.ClientCert), raw("client key", cmp.Or(h.ClientKey, h.ClientCert))
	}
	if h.TokenFile != "" {
		if h.CA == "" {
			return nil, errors.New("health: a bearer token for a server that is not verified, want a CA file beside it")
		}
		c.token = &watchedFile[string]{what: "token file", path: h.TokenFile, parse: parseToken}
	}
	return c, nil
}

// none tells that nothing has to be read.
func (c *credentials) none() bool { return c.ca == nil && c.cert == nil && c.token == nil }

// anonymous tells that the probe does not say who asks.
func (c *credentials) anonymous() bool { return c.cert == nil && c.token == nil }

// present reads what has changed.
func (c *credentials) present(ctx context.Context) (presented, error) {
	if c.none() {
		return presented{}, nil
	}
	p, err := c.call.do(ctx, c.read)
	if err != nil {
		return p, fmt.Errorf("read the check's credentials: %w", err)
	}
	return p, p.err
}

func (c *credentials) read() (p presented) {
	if c.ca != nil {
		if p.pool, _, p.err = c.ca.load(); p.err != nil {
			return p
		}
	}
	if c.cert != nil {
		if p.pair, p.err = c.certificate(); p.err != nil {
			return p
		}
	}
	if c.token != nil {
		p.token, _, p.err = c.token.load()
	}
	return p
}

func (c *credentials) certificate() (*tls.Certificate, error) {
	cert, newCert, err := c.cert.load()
	if err != nil {
		return nil, err
	}
	key, newKey, err := c.key.load()
	if err != nil {
		return nil, err
	}
	if newCert || newKey || c.pair == nil {
		c.pair = nil
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil { // also in the moment between the two files' replacements
			return nil, fmt.Errorf("client certificate %s with key %s: %w", c.cert.path, c.key.path, err)
		}
		c.pair = &pair
	}
	return c.pair, nil
}

func parseToken(b []byte) (string, error) {
	b = bytes.TrimSpace(b)
	odd := func(r rune) bool { return r <= ' ' || r > '~' }
	switch {
	case len(b) == 0:
		return "", errors.New("empty, want a bearer token")
	case len(b) > maxToken:
		return "", fmt.Errorf("%d bytes, want a bearer token of at most %d", len(b), maxToken)
	case bytes.ContainsFunc(b, odd):
		return "", errors.New("white space or control characters within, want one bearer token")
	}
	return string(b), nil
}

// verify is the usual verification of a server, against a pool that changes and a name of our own.
func (p presented) verify(cs tls.ConnectionState, name string) error {
	if len(cs.PeerCertificates) == 0 {
		return errors.New("no certificate from the server")
	}
	intermediates := x509.NewCertPool()
	for _, cert := range cs.PeerCertificates[1:] {
		intermediates.AddCert(cert)
	}
	_, err := cs.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: p.pool, Intermediates: intermediates, DNSName: name})
	return err
}
