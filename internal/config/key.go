package config

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/keepvip/keepvip/internal/base/regular"
)

const (
	minKey     = 32
	maxKey     = 64
	maxKeyFile = 4096
)

// LoadKey reads a shared key: 32 to 64 bytes written in hex or base64, white space around it ignored. The file must be
// regular and neither readable nor writable by group or others. Errors name the path and the remedy, never the contents.
func LoadKey(path string) ([]byte, error) { return held(nil).key(path) }

func (h held) key(path string) ([]byte, error) {
	data, err := h.read(path)
	if err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	key, err := decodeKey(data)
	if err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	return key, nil
}

// ReadSecret reads a file of at most 4096 bytes that nobody but its owner may read. Errors say what is wrong with it, without its path or contents.
func ReadSecret(path string) ([]byte, error) {
	if err := secretToOthers(path); err != nil {
		return nil, err
	}
	return regular.Read(path, maxKeyFile)
}

// secretToOthers fails where others than the owner of a file may read it. A file that is not there is nobody's: whoever reads it says so.
func secretToOthers(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("mode %04o, want 0600: chmod 600 %s", mode, path)
	}
	return nil
}

// forAnybody tells whether every user of this host may read or write a file.
func forAnybody(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().Perm()&0o007 != 0
}

// decodeKey tries hex first: a hex key is also valid base64, of another length.
func decodeKey(data []byte) ([]byte, error) {
	text := string(bytes.TrimSpace(data))
	key, err := hex.DecodeString(text)
	if err != nil {
		key, err = base64.StdEncoding.DecodeString(text)
	}
	switch {
	case err != nil:
		return nil, errors.New("neither hex nor base64, want 32 to 64 bytes such as from: keepvip key generate")
	case len(key) < minKey || len(key) > maxKey:
		return nil, fmt.Errorf("%d bytes, want %d to %d such as from: keepvip key generate", len(key), minKey, maxKey)
	}
	return key, nil
}

// Secret is a key with its number.
type Secret struct {
	ID    uint8
	Bytes []byte
}

// Load reads all keys, the one that signs first; none without a key.
func (k Key) Load() ([]Secret, error) {
	if k.File == "" {
		return nil, nil
	}
	var out []Secret
	var errs []error
	for _, ref := range append([]KeyRef{{ID: k.ID, File: k.File}}, k.Accept...) {
		secret, err := k.held.key(ref.File)
		errs = append(errs, err)
		out = append(out, Secret{ID: ref.ID, Bytes: secret})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return out, nil
}

// NewKey is a random key as a key file has it.
func NewKey() []byte {
	var key [minKey]byte
	_, _ = rand.Read(key[:]) // never fails
	return KeyFile(key[:])
}

// KeyFile is a key as a key file has it.
func KeyFile(key []byte) []byte { return []byte(hex.EncodeToString(key) + "\n") }

// checkKey refuses what does not fit together.
func (k *validator) checkKey() {
	if k.Key.File == "" {
		for _, key := range []string{"key.id", "key.accept", "key.mode", "key.window"} {
			if o := k.Origin(key); o.Source != Default {
				k.add(o, key, "set without key.file, want both or neither")
			}
		}
		return
	}
	seen := map[uint8]bool{k.Key.ID: true}
	for _, ref := range k.Key.Accept {
		if seen[ref.ID] {
			k.add(k.Origin("key.accept"), "key.accept", "key id %d is given twice (key.id is %d), want each once", ref.ID, k.Key.ID)
		}
		seen[ref.ID] = true
	}
}

// checkFiles reads the secrets and certificates that the configuration names, and looks for the programs.
func (k *validator) checkFiles() error {
	if k.Key.File != "" {
		if _, err := k.Key.held.key(k.Key.File); err != nil {
			k.add(k.Origin("key.file"), "key.file", "%v", err)
		}
	}
	for _, ref := range k.Key.Accept {
		if _, err := k.Key.held.key(ref.File); err != nil {
			k.add(k.Origin("key.accept"), "key.accept", "%v", err)
		}
	}
	for i := range k.VIPs {
		v := &k.VIPs[i].VRRP
		if v.PasswordFile == "" {
			continue
		}
		key := fmt.Sprintf("%s[%d].vrrp.passwordFile", vipsKey, i)
		var err error
		if v.Password, err = k.Key.held.password(v.PasswordFile); err != nil {
			k.add(k.Origin(key), key, "%v", err)
		}
	}
	if k.Follow.KeyFile != "" {
		if _, err := LoadKey(k.Follow.KeyFile); err != nil && !errors.Is(err, fs.ErrNotExist) { // which only followers have
			k.add(k.Origin("follow.keyFile"), "follow.keyFile", "%v", err)
		}
	}
	k.checkRaftFiles()
	k.checkMetricsFiles()
	k.checkCredentials()
	k.checkPrograms()
	return k.err()
}
