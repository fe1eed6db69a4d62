package signing

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var at = time.Unix(1700000000, 0)

func write(t *testing.T, dir, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path
}

func keyFile(t *testing.T, private any) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	return write(t, t.TempDir(), "release.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func TestSignaturesAreTheSameEachTimeAndOpenSSLAndGPGVerifyThem(t *testing.T) {
	private, err := rsa.GenerateKey(rand.Reader, leastBits)
	require.NoError(t, err)
	path := keyFile(t, private)
	k, err := Load(path, at)
	require.NoError(t, err)
	again, err := Load(path, at)
	require.NoError(t, err)

	dir, data := t.TempDir(), []byte("what is signed\n")
	write(t, dir, "data", data)
	for name, of := range map[string]func(*Key) ([]byte, error){
		"sig":       func(k *Key) ([]byte, error) { return k.Sign(data) },
		"gpg":       func(k *Key) ([]byte, error) { return k.Detached(data) },
		"asc":       func(k *Key) ([]byte, error) { return k.Armored(data) },
		"InRelease": func(k *Key) ([]byte, error) { return k.Clear(data) },
		"key.pem":   (*Key).PublicPEM,
		"key.asc":   (*Key).PublicOpenPGP,
	} {
		one, err := of(k)
		require.NoError(t, err)
		two, err := of(again)
		require.NoError(t, err)
		assert.Equal(t, one, two, name)
		write(t, dir, name, one)
	}
	run := func(line string) (string, error) {
		cmd := exec.Command("sh", "-ec", line)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	verify := []string{
		"openssl dgst -sha256 -verify key.pem -signature sig data",
		"gpg --batch --dearmor <key.asc >ring.gpg; gpgv --keyring ./ring.gpg gpg data",
		"gpgv --keyring ./ring.gpg asc data",
		"gpgv --keyring ./ring.gpg InRelease",
	}
	for _, line := range verify {
		out, err := run(line)
		assert.NoError(t, err, "%s: %s", line, out)
	}
	write(t, dir, "data", []byte("what is signeD\n"))
	text, err := os.ReadFile(filepath.Join(dir, "InRelease"))
	require.NoError(t, err)
	write(t, dir, "InRelease", []byte(strings.Replace(string(text), "what is signed", "what is signeD", 1)))
	for _, line := range verify {
		_, err := run(strings.Replace(line, ">ring.gpg", ">other.gpg", 1))
		assert.Error(t, err, "%s finds a changed byte", line)
	}
}

func TestKeyThatIsRefused(t *testing.T) {
	small, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	for want, path := range map[string]string{
		"an RSA key of 2048 bits, want at least 3072": keyFile(t, small),
		"want RSA":                  keyFile(t, edwards),
		"no PEM block PRIVATE KEY":  write(t, t.TempDir(), "no.pem", []byte("nothing")),
		"no such file or directory": filepath.Join(t.TempDir(), "none"),
	} {
		_, err := Load(path, at)
		assert.ErrorContains(t, err, want)
	}
	open := keyFile(t, small)
	require.NoError(t, os.Chmod(open, 0o644))
	_, err = Load(open, at)
	assert.ErrorContains(t, err, "has mode 0644, want 0600")
}
