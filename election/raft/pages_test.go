package raft

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"
)

// usedStore is a database with entries and keys, as a file's content.
func usedStore(t testing.TB, entries int, o *bbolt.Options) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	db, err := bbolt.Open(path, 0o600, o)
	require.NoError(t, err)
	s := &logStore{db: db}
	require.NoError(t, db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucket(bucketLog)
		require.NoError(t, err)
		_, err = tx.CreateBucket(bucketKeys)
		return err
	}))
	require.NoError(t, s.Set(keyID, []byte("10.77.0.11")))
	for i := range entries {
		require.NoError(t, s.StoreLog(&raft.Log{Index: uint64(i + 1), Term: 3, Data: bytes.Repeat([]byte{'x'}, 40)}))
	}
	require.NoError(t, s.Close())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return text
}

func openDamaged(t testing.TB, text []byte) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	s, err := openLogStore(path)
	if err != nil {
		return err
	}
	// A store that is taken for whole can be written to.
	require.NoError(t, guarded(func() error { return s.StoreLog(&raft.Log{Index: 1 << 20, Term: 4}) }))
	require.NoError(t, guarded(func() error { return s.DeleteRange(1, 1<<19) }))
	return s.Close()
}

func TestStoreWithRandomBytesNeverEndsTheProcess(t *testing.T) {
	for name, give := range map[string][]byte{
		"a few entries":     usedStore(t, 3, options()),
		"many pages":        usedStore(t, 400, options()),
		"with its freelist": usedStore(t, 60, nil),
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, openDamaged(t, give))
			for seed := range uint64(100) {
				r := rand.New(rand.NewPCG(seed, 0))
				text := bytes.Clone(give)
				for range 1 + r.IntN(200) {
					text[r.IntN(len(text))] = byte(r.IntN(256))
				}
				if err := openDamaged(t, text); err != nil {
					assert.ErrorIs(t, err, errDamaged, "seed %d", seed)
				}
			}
		})
	}
}

func TestStoreThatIsCutOffIsDamaged(t *testing.T) {
	whole := usedStore(t, 400, options())
	for _, size := range []int{0, 1, 100, 4096, 8192, 20000, len(whole) / 2} {
		assert.ErrorIs(t, openDamaged(t, whole[:size]), errDamaged, "%d bytes", size)
	}
}

func TestStoreThatIsNoFileIsDamaged(t *testing.T) {
	_, err := openLogStore(t.TempDir())
	assert.ErrorContains(t, err, "not a regular file")
}

func FuzzStorePages(f *testing.F) {
	f.Add(usedStore(f, 3, options()))
	f.Add(usedStore(f, 60, nil))
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := verifyPages(bytes.NewReader(text), int64(len(text))); err != nil {
			assert.ErrorIs(t, err, errDamaged)
		}
	})
}
