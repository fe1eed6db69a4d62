// Package signing signs what a release consists of with one RSA key, in the two forms that tools verify: PKCS #1 v1.5 with SHA-256, for
// openssl and cosign, and OpenPGP, for apt, rpm and gpg. The same key and data give the same signature.
//
// # Goroutines
//
// None.
package signing

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// Who signs, as OpenPGP names it.
const (
	signer  = "keepvip releases"
	address = "keepvip@users.noreply.github.com"
)

// leastBits is what a signature of this decade needs.
const leastBits = 3072

// Key signs.
type Key struct {
	private *rsa.PrivateKey
	entity  *openpgp.Entity
	config  *packet.Config
}

// Load reads an RSA key of at least 3072 bits from a file in PKCS #8, as `openssl genpkey -algorithm rsa` writes it. at is the time of every
// OpenPGP signature.
func Load(path string, at time.Time) (*Key, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("signing: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("signing: %s has mode %#o, want 0600: others may read the key", path, info.Mode().Perm())
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("signing: %w", err)
	}
	private, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("signing: %s: %w", path, err)
	}
	return New(private, at)
}

func parse(text []byte) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, errors.New("no PEM block PRIVATE KEY, want an RSA key in PKCS #8 without a password")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	private, ok := parsed.(*rsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("a key of type %T, want RSA", parsed)
	}
	if private.N.BitLen() < leastBits {
		return nil, fmt.Errorf("an RSA key of %d bits, want at least %d", private.N.BitLen(), leastBits)
	}
	return private, nil
}

// New makes a Key of a private key.
func New(private *rsa.PrivateKey, at time.Time) (*Key, error) {
	// The time is part of an OpenPGP key's fingerprint: it has to be the same at each release.
	made := time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC)
	plain := false
	config := func(t time.Time) *packet.Config {
		return &packet.Config{
			DefaultHash: crypto.SHA256, Time: func() time.Time { return t }, NonDeterministicSignaturesViaNotation: &plain,
		}
	}
	secret := packet.NewRSAPrivateKey(made, private)
	entity := &openpgp.Entity{PrimaryKey: &secret.PublicKey, PrivateKey: secret, Identities: map[string]*openpgp.Identity{}}
	if err := entity.AddUserId(signer, "", address, config(made)); err != nil {
		return nil, fmt.Errorf("signing: make the OpenPGP key: %w", err)
	}
	return &Key{private: private, entity: entity, config: config(at)}, nil
}

// Sign is a PKCS #1 v1.5 signature of the data's SHA-256.
func (k *Key) Sign(data []byte) ([]byte, error) {
	sum := sha256.Sum256(data)
	out, err := rsa.SignPKCS1v15(nil, k.private, crypto.SHA256, sum[:])
	if err != nil {
		return nil, fmt.Errorf("signing: %w", err)
	}
	return out, nil
}

// Detached is a binary OpenPGP signature, as rpm has it in a package.
func (k *Key) Detached(data []byte) ([]byte, error) {
	var b bytes.Buffer
	if err := openpgp.DetachSign(&b, k.entity, bytes.NewReader(data), k.config); err != nil {
		return nil, fmt.Errorf("signing: OpenPGP: %w", err)
	}
	return b.Bytes(), nil
}

// Armored is an OpenPGP signature in text, for Release.gpg, repomd.xml.asc and SHA256SUMS.asc.
func (k *Key) Armored(data []byte) ([]byte, error) {
	var b bytes.Buffer
	if err := openpgp.ArmoredDetachSign(&b, k.entity, bytes.NewReader(data), k.config); err != nil {
		return nil, fmt.Errorf("signing: OpenPGP: %w", err)
	}
	return append(b.Bytes(), '\n'), nil
}

// Clear is the text with an OpenPGP signature below it, for InRelease. It is put together here, because gpgv wants the checksum of the
// armor, which clearsign leaves out. No line may begin with a dash or end in a blank, which would have to be escaped.
func (k *Key) Clear(text []byte) ([]byte, error) {
	for line := range bytes.Lines(text) {
		if line[0] == '-' || bytes.HasSuffix(bytes.TrimRight(line, "\n"), []byte(" ")) {
			return nil, fmt.Errorf("signing: the line %q cannot be signed as it is", line)
		}
	}
	var b bytes.Buffer
	b.WriteString("-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\n")
	b.Write(text)
	// The last line break is no part of what is signed.
	if err := openpgp.ArmoredDetachSignText(&b, k.entity, bytes.NewReader(bytes.TrimSuffix(text, []byte("\n"))), k.config); err != nil {
		return nil, fmt.Errorf("signing: OpenPGP: %w", err)
	}
	return append(b.Bytes(), '\n'), nil
}

// PublicPEM is the public key for openssl and cosign.
func (k *Key) PublicPEM() ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(&k.private.PublicKey)
	if err != nil {
		return nil, fmt.Errorf("signing: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), nil
}

// PublicOpenPGP is the public key for apt, rpm and gpg.
func (k *Key) PublicOpenPGP() ([]byte, error) {
	var b bytes.Buffer
	w, err := armor.Encode(&b, openpgp.PublicKeyType, nil)
	if err != nil {
		return nil, fmt.Errorf("signing: %w", err)
	}
	if err := errors.Join(k.entity.Serialize(w), closed(w)); err != nil {
		return nil, fmt.Errorf("signing: %w", err)
	}
	return append(b.Bytes(), '\n'), nil
}

func closed(w io.Closer) error { return w.Close() }
