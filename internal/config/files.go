package config

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strings"

	"github.com/keepvip/keepvip/internal/base/regular"
)

// maxCertificates bounds a file of certificates.
const maxCertificates = 1 << 20

// checkRaftFiles reads the certificates that the members show each other: without them this node could not even vote.
func (c *Config) checkRaftFiles(ps *problems) {
	r := c.Raft
	if !r.OwnCertificates() || len(c.ByRaft()) == 0 {
		return
	}
	bad := func(key string, err error) {
		if err != nil {
			ps.add(c.near(key), key, "%v", err)
		}
	}
	bad("raft.certificate", lookAtPair(r.Certificate, r.PrivateKey))
	bad("raft.ca", lookAtCA(r.CA))
}

// noteFiles notes what the checks would not find on this machine. It is no problem: kubeadm init makes such files, and the checks
// read them again until they are good.
func (c *Config) noteFiles() {
	for i := range c.VIPs {
		v := &c.VIPs[i]
		at := func(key string) string { return fmt.Sprintf("%s[%d].%s", vipsKey, i, key) }
		c.noteInterface(at("interface"), v.Interface)
		for j, b := range v.Spread.Backends {
			if h, asked := v.BackendCheck(b); asked && h.CA != "" {
				key := "spread.backendCheck.ca"
				if b.Check.CA != "" || v.Spread.BackendCheck.Resolved().CA == "" {
					key = fmt.Sprintf("%s[%d].check.ca", spreadBackends, j)
				}
				c.noteCheck(at(key), lookAtCA(h.CA))
			}
		}
		if len(v.Checks) == 0 {
			c.noteCheck(at("check.ca"), lookAtCA(v.Check.Resolved().CA))
		}
		for j := range v.Checks {
			h := &v.Checks[j]
			of := func(key string) string { return at(fmt.Sprintf("%s[%d].%s", checksKey, j, key)) }
			c.noteCheck(of("ca"), lookAtCA(h.CA))
			c.noteCheck(of("clientCert"), lookAtPair(h.ClientCert, h.ClientKey))
			c.noteCheck(of("tokenFile"), lookAtToken(h.TokenFile))
			c.noteInterface(of("interface"), h.Interface)
		}
	}
}

func (c *Config) noteCheck(key string, err error) {
	if err == nil {
		return
	}
	if text := fmt.Sprintf("%s: %v; the check fails until that has changed", key, err); !slices.Contains(c.Warnings, text) {
		c.Warnings = append(c.Warnings, text)
	}
}

func (c *Config) noteInterface(key, name string) {
	if name == "" {
		return
	}
	if _, err := net.InterfaceByName(name); err != nil {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%s: there is no interface %s here now", key, name))
	}
}

// lookAtPair reads a certificate with its key, which may be in one file. No path: nothing to look at.
func lookAtPair(cert, key string) error {
	if cert == "" {
		return nil
	}
	key = cmp.Or(key, cert)
	if err := secretToOthers(key); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	certPEM, err := lookAt(cert)
	if err != nil {
		return err
	}
	keyPEM, err := lookAt(key)
	if err != nil {
		return err
	}
	if _, err := tls.X509KeyPair(certPEM, keyPEM); err != nil {
		return fmt.Errorf("certificate %s with key %s: %w", cert, key, err)
	}
	return nil
}

func lookAtCA(path string) error {
	if path == "" {
		return nil
	}
	pem, err := lookAt(path)
	if err == nil && !x509.NewCertPool().AppendCertsFromPEM(pem) {
		err = fmt.Errorf("%s: no certificate in it, want PEM", path)
	}
	return err
}

func lookAtToken(path string) error {
	if path == "" {
		return nil
	}
	text, err := lookAt(path)
	if err == nil && strings.TrimSpace(string(text)) == "" {
		err = fmt.Errorf("%s: empty, want a bearer token", path)
	}
	return err
}

func lookAt(path string) ([]byte, error) {
	data, err := regular.Read(path, maxCertificates)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: no such file", path)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return data, nil
}
