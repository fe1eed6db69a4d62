package convert

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestConvertInMemoryHandsSecretsOver(t *testing.T) {
	text, err := os.ReadFile("testdata/unicast-pass.conf")
	require.NoError(t, err)
	r := converted(t, string(text), Options{InMemory: true})
	require.NotNil(t, r.Draft, shown(r))
	require.Len(t, r.Secrets, 1)
	cfg, err := load(r)
	require.NoError(t, err)
	for name, secret := range r.Secrets {
		assert.Equal(t, name, cfg.VIPs[0].VRRP.PasswordFile)
		assert.Nil(t, r.Text)
		assert.Contains(t, string(text), string(secret))
		assert.NotContains(t, values(cfg)+shown(r), string(secret))
	}
	assert.NotContains(t, shown(r), codeSecret+":")
	assert.Contains(t, string(text), "vrrp_instance "+cfg.VIPs[0].KeepalivedName+" {")
}

// What is found goes into logs, wherever in the block the password is written.
func TestConvertFindingsHaveNoPassword(t *testing.T) {
	for _, block := range []string{
		"authentication { auth_type PASS auth_pass s3cr3t }",
		"authentication {\n auth_type PASS auth_pass s3cr3t\n}",
		"authentication {\n auth_type PASS\n auth_pass not s3cr3t\n}",
		"authentication {\n auth_type PASS\n auth_pas s3cr3t\n}",
	} {
		r := converted(t, fmt.Sprintf(base1, block), Options{})
		assert.NotEmpty(t, r.Findings, block)
		assert.NotContains(t, shown(r), "s3cr3t", block)
	}
}

func TestConvertInMemoryTakesKeysAsTheyAreWritten(t *testing.T) {
	digits := strings.Repeat("0a", 32)
	r := converted(t, fmt.Sprintf(base1, "version 3\nauth_hmac {\n key 1 hex:"+digits+"\n key 2 hex:"+digits+"\n active_key 2\n}"), Options{InMemory: true})
	require.NotNil(t, r.Draft, shown(r))
	assert.Equal(t, map[string][]byte{"auth_hmac key 1": []byte(digits), "auth_hmac key 2": []byte(digits)}, r.Secrets)
	cfg, err := load(r)
	require.NoError(t, err)
	assert.NotContains(t, values(cfg)+shown(r), digits)
	assert.Equal(t, "auth_hmac key 2", cfg.Key.File)
	assert.Equal(t, "auth_hmac key 1", cfg.Key.Accept[0].File)

	for file, want := range map[string]string{
		"hex:" + digits + "\n": digits, "an ASCII key of 32 to 64 characters": hex.EncodeToString([]byte("an ASCII key of 32 to 64 characters")),
	} {
		r = converted(t, fmt.Sprintf(base1, "version 3\nauth_hmac {\n key 1 file:/etc/keepalived/key\n}"), Options{InMemory: true, ReadSecret: func(path string) ([]byte, error) {
			assert.Equal(t, "/etc/keepalived/key", path)
			return []byte(file), nil
		}})
		require.NotNil(t, r.Draft, shown(r))
		assert.Equal(t, map[string][]byte{"auth_hmac key 1": []byte(want)}, r.Secrets)
	}
	r = converted(t, fmt.Sprintf(base1, "version 3\nauth_hmac {\n key 1 passphrase-of-some-32-characters-x\n}"), Options{InMemory: true})
	assert.Equal(t, hex.EncodeToString([]byte("passphrase-of-some-32-characters-x")), string(r.Secrets["auth_hmac key 1"]))
	assert.NotContains(t, shown(r), "passphrase")

	r = converted(t, fmt.Sprintf(base1, "version 3\nauth_hmac {\n key 1 file:/etc/keepalived/key\n}"), Options{InMemory: true, ReadSecret: func(string) ([]byte, error) {
		return nil, errors.New("mode 0644, want 0600")
	}})
	assert.Nil(t, r.Draft)
	assert.Contains(t, shown(r), "k.conf:9: error unsupported: key file /etc/keepalived/key: mode 0644, want 0600")
}

func TestConvertOriginsAreThoseOfTheFile(t *testing.T) {
	cfg, err := load(converted(t, fmt.Sprintf(base1, "priority 7"), Options{}))
	require.NoError(t, err)
	assert.Equal(t, "k.conf:7", cfg.Origin("vips[0].priority").String())
}

func TestConvertActiveKeyOfAuthHMAC(t *testing.T) {
	digits := strings.Repeat("0a", 32)
	for active, want := range map[string]uint8{"0": 0, "000": 0, "2": 2, "02": 2} {
		r := converted(t, fmt.Sprintf(base1, "version 3\nauth_hmac {\n key 2 hex:"+digits+"\n key 0 hex:"+digits+"\n active_key "+active+"\n}"), Options{InMemory: true})
		require.NotNil(t, r.Draft, shown(r))
		cfg, err := load(r)
		require.NoError(t, err)
		assert.Equal(t, want, cfg.Key.ID, active)
	}
}
