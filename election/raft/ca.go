package raft

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"time"
)

const (
	// labelCA keeps what is made here apart from the other uses of the shared key (HKDF, RFC 5869).
	labelCA = "keepvip/v1 raft ca"

	minSecret = 32
	maxSecret = 64
)

// The validity of everything minted here, far around any present: a node's clock must not decide whether it is a member.
var (
	notBefore = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	midway    = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	notAfter  = time.Date(2199, 12, 31, 0, 0, 0, 0, time.UTC)
)

// authority is the certificate authority that every holder of a shared key can derive: the same on every node.
type authority struct {
	cert *x509.Certificate
	key  ed25519.PrivateKey
}

// newAuthority derives the authority of a secret of 32 to 64 random bytes.
func newAuthority(secret []byte) (authority, error) {
	if n := len(secret); n < minSecret || n > maxSecret {
		return authority{}, fmt.Errorf("raft: key of %d bytes, want %d to %d random bytes", n, minSecret, maxSecret)
	}
	seed, err := hkdf.Key(sha256.New, secret, nil, labelCA, ed25519.SeedSize)
	if err != nil {
		return authority{}, fmt.Errorf("raft: derive the authority: %w", err)
	}
	key := ed25519.NewKeyFromSeed(seed)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "keepvip raft"},
		NotBefore: notBefore, NotAfter: notAfter,
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return authority{}, fmt.Errorf("raft: sign the authority: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return authority{}, fmt.Errorf("raft: parse the authority: %w", err)
	}
	return authority{cert: cert, key: key}, nil
}

// mint makes a certificate for this process, with a key that never leaves it.
func (a authority) mint() (tls.Certificate, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("raft: make a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("raft: draw a serial number: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "keepvip raft member"},
		NotBefore: notBefore, NotAfter: notAfter,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, public, a.key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("raft: sign a certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, nil
}
