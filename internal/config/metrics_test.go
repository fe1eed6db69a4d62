package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMetricsAreLocalOrExposed(t *testing.T) {
	for address, want := range map[string]struct {
		exposed bool
		local   string
		port    int
	}{
		"":                {false, "", 0},
		"127.0.0.1:9645":  {false, "127.0.0.1:9645", 0},
		"[::1]:9645":      {false, "[::1]:9645", 0},
		"localhost:9645":  {false, "localhost:9645", 0},
		"0.0.0.0:9645":    {true, "127.0.0.1:9645", 9645},
		"[::]:9645":       {true, "127.0.0.1:9645", 9645},
		"10.77.0.11:9100": {true, "127.0.0.1:9100", 9100},
	} {
		m := Metrics{Address: address}
		assert.Equal(t, want.exposed, m.exposed(), address)
		assert.Equal(t, want.local, m.Local(), address)
		assert.Equal(t, want.port, m.ExposedPort(), address)
	}
}

func TestTokenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	for _, tt := range []struct {
		name, text string
		mode       os.FileMode
		want, err  string
	}{
		{"good", "  0123456789abcdef\n", 0o600, "0123456789abcdef", ""},
		{"too short", "0123456789abcde\n", 0o600, "", "15 characters, want at least 16 such as from: keepvip key generate"},
		{"empty", "\n", 0o400, "", "0 characters, want at least 16"},
		{"two lines", "0123456789abcdef\n0123456789abcdef\n", 0o600, "", "a blank or a character that no header can have, want one line"},
		{"too long", strings.Repeat("x", 5000), 0o600, "", "more than 4096 bytes, want at most that"},
		{"readable by others", "0123456789abcdef\n", 0o644, "", "mode 0644, want 0600: chmod 600 " + path},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(path, []byte(tt.text), tt.mode))
			require.NoError(t, os.Chmod(path, tt.mode))
			got, err := LoadToken(path)
			assert.Equal(t, tt.want, got)
			if tt.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, "token file "+path+": "+tt.err)
			if token := strings.TrimSpace(tt.text); token != "" {
				assert.NotContains(t, err.Error(), token, "no secret in an error")
			}
		})
	}
}
