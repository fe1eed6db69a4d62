package health

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// apiserverName is in the certificate of every apiserver, while 127.0.0.1 is not in kubeadm's.
const apiserverName = "kubernetes"

// trust verifies a server against a CA file that may come later than we do: kubeadm init writes it.
type trust struct {
	path, name string
	pool       *x509.CertPool
	modified   time.Time
	size       int64
}

func newTrust(path, serverName string) *trust {
	if serverName == "" {
		serverName = apiserverName
	}
	return &trust{path: path, name: serverName}
}

// refresh reads the file again when it has changed. Without a usable file it fails: silently trusting anybody, or an old CA
// for ever, would both be wrong.
func (t *trust) refresh() error {
	info, err := os.Stat(t.path)
	if err != nil {
		t.pool = nil
		return fmt.Errorf("CA file %s: %w", t.path, plain(err))
	}
	if t.pool != nil && info.ModTime().Equal(t.modified) && info.Size() == t.size {
		return nil
	}
	t.pool = nil
	const most = 1 << 20
	if !info.Mode().IsRegular() || info.Size() > most {
		return fmt.Errorf("CA file %s: not a regular file of at most %d bytes", t.path, most)
	}
	pem, err := os.ReadFile(t.path)
	if err != nil {
		return fmt.Errorf("CA file %s: %w", t.path, plain(err))
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return fmt.Errorf("CA file %s: no certificate in it, want PEM", t.path)
	}
	t.pool, t.modified, t.size = pool, info.ModTime(), info.Size()
	return nil
}

// verify is tls.Config.VerifyConnection: the usual verification, but against a pool that changes and a name of our own.
func (t *trust) verify(cs tls.ConnectionState) error {
	if len(cs.PeerCertificates) == 0 {
		return errors.New("no certificate from the server")
	}
	intermediates := x509.NewCertPool()
	for _, cert := range cs.PeerCertificates[1:] {
		intermediates.AddCert(cert)
	}
	_, err := cs.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: t.pool, Intermediates: intermediates, DNSName: t.name})
	return err
}

// plain drops the path from an error of package os: the caller has named it.
func plain(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
