package config

import (
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
		{"too short", hex32[2:], 0o600, "31 bytes, want 32 to 64 such as from: openssl rand -hex 32", 0},
		{"too long", strings.Repeat("0f", 65), 0o600, "65 bytes, want 32 to 64 such as from: openssl rand -hex 32", 0},
		{"empty", "", 0o600, "0 bytes, want 32 to 64 such as from: openssl rand -hex 32", 0},
		{"a password", "correct horse", 0o600, "neither hex nor base64, want 32 to 64 bytes such as from: openssl rand -hex 32", 0},
		{"large", strings.Repeat("0f", 1<<20), 0o600, "neither hex nor base64, want 32 to 64 bytes such as from: openssl rand -hex 32", 0},
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
	assert.Equal(t, "/none/key", c.KeyFile)
}
