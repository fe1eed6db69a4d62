package config

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/keepvip/keepvip/internal/base/regular"
	"golang.org/x/sys/unix"
)

// maxCertificates bounds a file of certificates.
const maxCertificates = 1 << 20

// checkRaftFiles reads the certificates that the members show each other: without them this node could not even vote.
func (k *validator) checkRaftFiles() {
	r := k.Raft
	if !r.OwnCertificates() || len(k.ByRaft()) == 0 {
		return
	}
	bad := func(key string, err error) {
		if err != nil {
			k.bad(key, "%v", err)
		}
	}
	bad("raft.certificate", lookAtOwnPair(r.Certificate, r.PrivateKey))
	bad("raft.ca", lookAtCA(r.CA))
}

// noteFiles notes what the checks would not find on this machine. It is no problem: kubeadm init makes such files, and the checks
// read them again until they are good.
func (c *Config) noteFiles() {
	n := (*notes)(&c.Warnings)
	for i := range c.VIPs {
		v := &c.VIPs[i]
		at := func(key string) string { return fmt.Sprintf("%s[%d].%s", vipsKey, i, key) }
		n.link(at("interface"), v.Interface)
		if c.Key.File == "" {
			n.spread(at("spread"), v)
		}
		for j, b := range v.Spread.Backends {
			if h, asked := v.BackendCheck(b); asked && h.CA != "" {
				key := "spread.backendCheck.ca"
				if b.Check.CA != "" || v.Spread.BackendCheck.Resolved().CA == "" {
					key = fmt.Sprintf("%s[%d].check.ca", spreadBackends, j)
				}
				n.check(at(key), lookAtCA(h.CA))
			}
		}
		if len(v.Checks) == 0 {
			n.check(at("check.ca"), lookAtCA(v.Check.Resolved().CA))
		}
		for j := range v.Checks {
			h := &v.Checks[j]
			of := func(key string) string { return at(fmt.Sprintf("%s[%d].%s", checksKey, j, key)) }
			n.check(of("ca"), lookAtCA(h.CA))
			n.check(of("clientCert"), lookAtPair(h.ClientCert, h.ClientKey))
			n.check(of("tokenFile"), lookAtToken(h.TokenFile))
			n.link(of("interface"), h.Interface)
		}
	}
	credentials(c.VIPs, n.credential)
}

// notes are what is wrong and no problem.
type notes []string

func (n *notes) add(format string, args ...any) { *n = append(*n, fmt.Sprintf(format, args...)) }

func (n *notes) check(key string, err error) {
	if err == nil {
		return
	}
	if text := fmt.Sprintf("%s: %v; the check fails until that has changed", key, err); !slices.Contains(*n, text) {
		*n = append(*n, text)
	}
}

// credentials tells of the files by which checks show who this node is.
func credentials(vips []VIP, tell func(key, path string)) {
	for i := range vips {
		for j, h := range vips[i].Checks {
			at := func(key string) string { return fmt.Sprintf("%s[%d].%s[%d].%s", vipsKey, i, checksKey, j, key) }
			tell(at("clientKey"), cmp.Or(h.ClientKey, h.ClientCert))
			tell(at("tokenFile"), h.TokenFile)
		}
	}
}

// checkCredentials refuses those that every user may read.
func (k *validator) checkCredentials() {
	credentials(k.VIPs, func(key, path string) {
		if err := secretToOthers(path); err != nil && forAnybody(path) {
			k.bad(key, "%s: every user may read it: %v", path, err)
		}
	})
}

// credential notes one that a group may read. It is used all the same: the program that has made the file may need the group.
func (n *notes) credential(key, path string) {
	if err := secretToOthers(path); err != nil && !forAnybody(path) {
		n.add("%s: %s: %v", key, path, err)
	}
}

// spread notes an entry that without a key takes any member's word for its share of the connections.
func (n *notes) spread(key string, v *VIP) {
	if v.Spread.Via != ViaOff && len(v.Spread.Members) == 0 && len(v.Spread.Backends) == 0 && !v.External() {
		n.add("%s: spread without key.file and without spread.members: whoever is on the link can get connections by a forged HELLO, as by forged ARP; want a key, or the list of the members", key)
	}
}

func (n *notes) link(key, name string) {
	if name != "" && !HasInterface(name) {
		n.add("%s: there is no interface %s here now", key, name)
	}
}

// lookAtOwnPair is lookAtPair for a key that this program shows who it is by.
func lookAtOwnPair(cert, key string) error {
	if key = cmp.Or(key, cert); key != "" {
		if err := secretToOthers(key); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return lookAtPair(cert, key)
}

// lookAtPair reads a certificate with its key, which may be in one file. No path: nothing to look at.
func lookAtPair(cert, key string) error {
	if cert == "" {
		return nil
	}
	key = cmp.Or(key, cert)
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

// HasInterface tells whether this host has an interface of that name, or altname. One that is too long to be asked for is taken to be there.
func HasInterface(name string) bool {
	if len(name) >= unix.IFNAMSIZ {
		return true
	}
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(s)
	ask, err := unix.NewIfreq(name)
	return err == nil && unix.IoctlIfreq(s, unix.SIOCGIFINDEX, ask) == nil
}
