//go:build e2e

package watches

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// pki is a certificate authority, as kubeadm makes one.
type pki struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pem  []byte
}

// pair is a certificate and its key, in PEM.
type pair struct{ cert, key []byte }

func newPKI() (_ *pki, err error) {
	defer try.Catch(&err)
	key := try.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubernetes"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	der := try.Get(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))
	p := &pki{key: key, pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
	p.cert, err = x509.ParseCertificate(der)
	return p, err
}

// sign makes a certificate of a server at these names and addresses, and of a client.
func (p *pki) sign(name pkix.Name, names []string, addresses ...netip.Addr) (_ pair, err error) {
	defer try.Catch(&err)
	key := try.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: name, DNSNames: names,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	for _, a := range addresses {
		template.IPAddresses = append(template.IPAddresses, net.IP(a.AsSlice()))
	}
	der := try.Get(x509.CreateCertificate(rand.Reader, template, p.cert, &key.PublicKey, p.key))
	secret, err := x509.MarshalECPrivateKey(key)
	return pair{
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}),
	}, err
}

// tls is the configuration of a client with the certificate.
func (p *pki) tls(client pair) (_ *tls.Config, err error) {
	defer try.Catch(&err)
	cert := try.Get(tls.X509KeyPair(client.cert, client.key))
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(p.pem) {
		return nil, fmt.Errorf("e2e: no certificate in the authority's PEM")
	}
	return &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{cert}}, nil
}
