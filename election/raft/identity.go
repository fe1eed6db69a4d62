package raft

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/keepvip/keepvip/internal/base/regular"
)

// Identity is what this node shows to the other members, and whom it believes. Safe for concurrent use; what is set anew
// counts from the next connection on.
type Identity struct {
	now atomic.Pointer[credentials]
}

type credentials struct {
	cert  tls.Certificate
	roots *x509.CertPool
	at    time.Time // certificates are judged as of then; zero: by the clock
}

var (
	// errNoKey: members are told from others by the shared key alone.
	errNoKey = errors.New("raft: no shared key and no certificates, want key.file (make one by: keepvip key generate) or raft.certificate, raft.privateKey and raft.ca")
	// errUntrusted is a certificate that none of the trusted authorities has signed.
	errUntrusted = errors.New("certificate of another key")
)

// UseKeys makes the identity one of the holders of shared keys, 32 to 64 random bytes each. The first one signs; all are
// believed, so that a key can be exchanged one node at a time. With an error nothing has changed.
func (i *Identity) UseKeys(secrets ...[]byte) error {
	if len(secrets) == 0 {
		return errNoKey
	}
	c := credentials{roots: x509.NewCertPool(), at: midway}
	for n, secret := range secrets {
		ca, err := newAuthority(secret)
		if err != nil {
			return err
		}
		c.roots.AddCert(ca.cert)
		if n > 0 {
			continue
		}
		if c.cert, err = ca.mint(); err != nil {
			return err
		}
	}
	i.now.Store(&c)
	return nil
}

// Become makes the identity that of another one, which has been set, and tells whether it was not.
func (i *Identity) Become(other *Identity) bool {
	is, next := i.now.Load(), other.now.Load()
	if is != nil && slices.EqualFunc(is.cert.Certificate, next.cert.Certificate, bytes.Equal) && is.roots.Equal(next.roots) {
		return false
	}
	i.now.Store(next)
	return true
}

// Files are an operator's own certificates, in PEM.
type Files struct {
	Cert, Key string // of this node
	CA        string // every certificate that one of these has signed is a member's
}

// mostPEM is how many bytes a file of certificates, or of a key, has at most.
const mostPEM = 1 << 20

// UseFiles makes the identity that of certificate files. With an error nothing has changed.
func (i *Identity) UseFiles(f Files) error {
	pair, pairErr := regular.Read(f.Cert, mostPEM)
	key, keyErr := regular.Read(f.Key, mostPEM)
	pem, err := regular.Read(f.CA, mostPEM)
	switch {
	case pairErr != nil:
		return fmt.Errorf("raft: certificate %s: %w", f.Cert, pairErr)
	case keyErr != nil:
		return fmt.Errorf("raft: private key %s: %w", f.Key, keyErr)
	case err != nil:
		return fmt.Errorf("raft: CA file %s: %w", f.CA, err)
	}
	cert, err := tls.X509KeyPair(pair, key)
	if err != nil {
		return fmt.Errorf("raft: certificate %s: %w", f.Cert, err)
	}
	c := credentials{cert: cert, roots: x509.NewCertPool()}
	if !c.roots.AppendCertsFromPEM(pem) {
		return fmt.Errorf("raft: CA file %s: no certificate, want PEM", f.CA)
	}
	i.now.Store(&c)
	return nil
}

// server is what the listener needs. Tickets are off: a connection that resumes an older one would escape a change of keys.
func (i *Identity) server(protocols ...string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: protocols, SessionTicketsDisabled: true,
		ClientAuth:       tls.RequireAnyClientCert,
		GetCertificate:   func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &i.now.Load().cert, nil },
		VerifyConnection: i.verify,
	}
}

// client is what a caller needs. The names in certificates say nothing: whoever holds the key is any member, so the chain
// is verified in place of the name.
func (i *Identity) client(protocol string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{protocol},
		InsecureSkipVerify: true, // verify does it
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return &i.now.Load().cert, nil
		},
		VerifyConnection: i.verify,
	}
}

func (i *Identity) verify(s tls.ConnectionState) error {
	c := i.now.Load()
	if len(s.PeerCertificates) == 0 {
		return fmt.Errorf("%w: none", errUntrusted)
	}
	opts := x509.VerifyOptions{
		Roots: c.roots, Intermediates: x509.NewCertPool(), CurrentTime: c.at,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	}
	for _, cert := range s.PeerCertificates[1:] {
		opts.Intermediates.AddCert(cert)
	}
	if _, err := s.PeerCertificates[0].Verify(opts); err != nil {
		return fmt.Errorf("%w: %w", errUntrusted, err)
	}
	if s.NegotiatedProtocol == "" {
		return errors.New("no protocol in common")
	}
	return nil
}
