package state

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var hold = Hold{Since: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Reason: "new kernel"}

// keep holds these names.
func keep(t *testing.T, s *Store, names ...string) error {
	t.Helper()
	keep, drop, err := s.Prepare(names, hold)
	if err != nil {
		return err
	}
	defer drop()
	return keep()
}

func TestStoreKeepsOnlyWhatWasPrepared(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir)
	require.NoError(t, err)
	_, drop, err := s.Prepare([]string{"apiserver"}, hold)
	require.NoError(t, err)
	drop()
	keepFirst, _, err := s.Prepare([]string{"apiserver"}, hold)
	require.NoError(t, err)
	require.NoError(t, keep(t, s, "ingress"), "meanwhile")
	require.NoError(t, keepFirst())
	s, err = Open(dir)
	require.NoError(t, err)
	assert.Len(t, s.held, 2)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1, "nothing temporary stays")
}

func TestStoreSurvives(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	s, err := Open(dir)
	require.NoError(t, err)
	_, held := s.Held("apiserver")
	assert.False(t, held)
	require.NoError(t, s.Resume([]string{"apiserver"}))
	assert.NoDirExists(t, dir, "nothing was wanted, nothing is written")
	require.NoError(t, keep(t, s, "apiserver", "ingress"))

	s, err = Open(dir)
	require.NoError(t, err)
	got, held := s.Held("apiserver")
	assert.True(t, held)
	assert.Equal(t, hold, got)
	require.NoError(t, s.Resume([]string{"apiserver"}))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1, "nothing temporary stays")

	s, err = Open(dir)
	require.NoError(t, err)
	_, held = s.Held("apiserver")
	assert.False(t, held)
	_, held = s.Held("ingress")
	assert.True(t, held)
}

func TestStoreThatCannotBeWrittenChangesNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	s := &Store{path: filepath.Join(file, fileName), held: map[string]Hold{}}
	require.ErrorContains(t, keep(t, s, "apiserver"), "--state-dir")
	_, held := s.Held("apiserver")
	assert.False(t, held)
}

func TestOpenRefusesWhatItDoesNotUnderstand(t *testing.T) {
	for name, tt := range map[string]struct{ give, want string }{
		"empty":             {"", "unexpected end"},
		"no JSON":           {"held", "invalid character"},
		"half":              {`{"version":1,"held":{`, "unexpected end"},
		"no version":        {`{"held":{}}`, "version missing, want 1"},
		"a later version":   {`{"version":2,"wants":{}}`, "version 2, want 1"},
		"an unknown field":  {`{"version":1,"held":{},"more":1}`, "unknown field"},
		"held is null":      {`{"version":1,"held":null}`, "held null"},
		"held is something": {`{"version":1,"held":["apiserver"]}`, "cannot unmarshal"},
		"very long":         {`{"version":1,"held":{}}` + strings.Repeat(" ", most), "more than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, fileName)
			require.NoError(t, os.WriteFile(path, []byte(tt.give), 0o600))
			_, err := Open(dir)
			require.ErrorContains(t, err, tt.want)
			assert.ErrorContains(t, err, path)
			assert.ErrorContains(t, err, "remove it to let this node take part")
		})
	}
}

func TestOpenRefusesAFileThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, fileName), 0o700))
	_, err := Open(dir)
	require.ErrorContains(t, err, "it says whether this node may hold the addresses")
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"version":1,"held":{}}`, string(encode(map[string]Hold{"apiserver": hold}))} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		held, err := parse(b)
		if err != nil {
			return
		}
		again, err := parse(encode(held))
		require.NoError(t, err)
		assert.Len(t, again, len(held))
	})
}
