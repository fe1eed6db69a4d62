package config

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLoadKey(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "key")
	hex32 := strings.Repeat("0f", 32)
	tests := []struct {
		name string
		text string
		mode os.FileMode
		want string // the error after the path, or ""
		size int
	}{
		{"hex", hex32 + "\n", 0o600, "", 32},
		{"hex of 64 bytes", strings.Repeat("0F", 64), 0o400, "", 64},
		{"base64", "\n AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8= \n", 0o600, "", 32},
		{"readable by the group", hex32, 0o640, "mode 0640, want 0600: chmod 600 " + file, 0},
		{"writable by others", hex32, 0o602, "mode 0602, want 0600: chmod 600 " + file, 0},
		{"executable by others", hex32, 0o601, "mode 0601, want 0600: chmod 600 " + file, 0},
		{"too short", hex32[2:], 0o600, "31 bytes, want 32 to 64 such as from: keepvip key generate", 0},
		{"too long", strings.Repeat("0f", 65), 0o600, "65 bytes, want 32 to 64 such as from: keepvip key generate", 0},
		{"empty", "", 0o600, "0 bytes, want 32 to 64 such as from: keepvip key generate", 0},
		{"a password", "correct horse", 0o600, "neither hex nor base64, want 32 to 64 bytes such as from: keepvip key generate", 0},
		{"large", strings.Repeat("0f", 1<<20), 0o600, "more than 4096 bytes, want at most that", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.NoError(t, os.RemoveAll(file))
			require.NoError(t, os.WriteFile(file, []byte(tt.text), 0o600))
			require.NoError(t, os.Chmod(file, tt.mode))
			key, err := LoadKey(file)
			if tt.want != "" {
				assert.EqualError(t, err, "key file "+file+": "+tt.want)
				assert.Nil(t, key)
				return
			}
			require.NoError(t, err)
			assert.Len(t, key, tt.size)
		})
	}
	_, err := LoadKey(dir + "/none")
	assert.EqualError(t, err, "key file "+dir+"/none: no such file or directory")
	require.NoError(t, os.Chmod(dir, 0o700))
	_, err = LoadKey(dir)
	assert.EqualError(t, err, "key file "+dir+": not a regular file, want one")
}

func TestLoadLooksAtTheKeyFile(t *testing.T) {
	in := inFile("vips: [{addresses: [10.77.0.1]}]\nkey: {file: /none/key}\n")
	_, err := Load(in)
	assert.EqualError(t, err, "config: KEEPVIP_CONFIG_YAML:4: key.file: key file /none/key: no such file or directory")
	in.Elsewhere = true
	c, err := Load(in)
	require.NoError(t, err)
	assert.Equal(t, "/none/key", c.Key.File)
}

func TestKeyLoadReadsTheSigningKeyFirst(t *testing.T) {
	dir := t.TempDir()
	write := func(name, fill string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(strings.Repeat(fill, 32)), 0o600))
		return path
	}
	k := Key{File: write("one", "01"), ID: 7, Accept: []KeyRef{{ID: 3, File: write("two", "02")}}}
	secrets, err := k.Load()
	require.NoError(t, err)
	require.Len(t, secrets, 2)
	assert.Equal(t, uint8(7), secrets[0].ID)
	assert.Equal(t, byte(1), secrets[0].Bytes[0])
	assert.Equal(t, uint8(3), secrets[1].ID)

	k.Accept[0].File = dir + "/none"
	_, err = k.Load()
	assert.EqualError(t, err, "key file "+dir+"/none: no such file or directory")
	none, err := Key{}.Load()
	assert.NoError(t, err)
	assert.Empty(t, none)
}

func TestNewKeyIsAKey(t *testing.T) {
	a, err := decodeKey(NewKey())
	require.NoError(t, err)
	b, err := decodeKey(NewKey())
	require.NoError(t, err)
	assert.Len(t, a, 32)
	assert.NotEqual(t, a, b)
}

// The reference values come from another implementation of RFC 5869.
func TestDeriveKey(t *testing.T) {
	secret := make([]byte, 32)
	for i := range secret {
		secret[i] = byte(i)
	}
	assert.Equal(t, "ef1e05818e1346dbfb17ba71b596fd9732a84b2b2f2e714f52a6c889ebf72ede", hex.EncodeToString(DeriveKey(secret, "hello")))
	assert.NotEqual(t, DeriveKey(secret, "hello"), DeriveKey(secret, "fingerprint"))
	assert.Len(t, Fingerprint(secret), 8)
	assert.Equal(t, Fingerprint(secret), hex.EncodeToString(DeriveKey(secret, "fingerprint"))[:8])
}

func TestLoadPassword(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	tests := []struct{ name, text, want, err string }{
		{"as kubeadm's guide has it", "42\n", "42", ""},
		{"eight characters", "12345678", "12345678", ""},
		{"nine", "123456789", "", "9 characters, want at most 8 (keepalived uses the first 8 of a longer one)"},
		{"empty", "\n", "", "empty, want 1 to 8 characters"},
		{"two lines", "a\nb\n", "", "characters that are not printable ASCII, want none"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(file, []byte(tt.text), 0o600))
			got, err := held(nil).password(file)
			assert.Equal(t, tt.want, got)
			if tt.err != "" {
				assert.EqualError(t, err, "password file "+file+": "+tt.err)
				return
			}
			assert.NoError(t, err)
		})
	}
	require.NoError(t, os.Chmod(file, 0o644))
	_, err := held(nil).password(file)
	assert.EqualError(t, err, "password file "+file+": mode 0644, want 0600: chmod 600 "+file)
}

// A password that changes in its file is taken over by a reload.
func TestDiffSeesANewPassword(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	text := "vips: [{addresses: [10.77.0.1], vrrp: {version: 2, advertisementInterval: 1s, passwordFile: " + file + "}}]\n"
	require.NoError(t, os.WriteFile(file, []byte("one"), 0o600))
	before := load(t, text)
	assert.Empty(t, Diff(before, load(t, text)))
	require.NoError(t, os.WriteFile(file, []byte("two"), 0o600))
	d := Diff(before, load(t, text))
	require.Len(t, d.Changed, 1)
	assert.Equal(t, []string{"vips[].vrrp.passwordFile"}, d.Changed[0].Keys)
	assert.Equal(t, "two", d.Changed[0].New.VRRP.Password)
}
