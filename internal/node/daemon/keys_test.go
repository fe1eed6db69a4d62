package daemon

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
)

func TestKeysTakeOverNewContentsOfTheSameFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(file, config.NewKey(), 0o600))
	k := config.Key{File: file, ID: 3, Mode: config.KeyPermissive, Window: time.Minute}
	a := newKeys()
	takeOver := func(k config.Key) {
		t.Helper()
		secrets, err := loadKeys(k)
		require.NoError(t, err)
		use, err := a.prepare(k, secrets)
		require.NoError(t, err)
		use()
	}
	takeOver(k)
	before := a.status()
	assert.Equal(t, "permissive", before.Mode)
	assert.Equal(t, uint8(3), before.Signs.ID)
	require.NoError(t, os.Remove(file))
	_, err := loadKeys(k)
	assert.ErrorContains(t, err, file)
	require.NoError(t, os.WriteFile(file, config.NewKey(), 0o600))
	takeOver(k)
	assert.NotEqual(t, before.Signs.Fingerprint, a.status().Signs.Fingerprint)
	takeOver(config.Key{})
	assert.Nil(t, a.status())
}
