package config

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
)

const (
	minKey     = 32
	maxKey     = 64
	maxKeyFile = 4096
)

// LoadKey reads a shared key: 32 to 64 bytes written in hex or base64, white space around it ignored. The file must be
// regular and neither readable nor writable by group or others. Errors name the path and the remedy, never the contents.
func LoadKey(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, plain(err))
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("key file %s: mode %04o, want 0600: chmod 600 %s", path, mode, path)
	}
	data, err := readFile(path, maxKeyFile)
	if err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	key, err := decodeKey(data)
	if err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	return key, nil
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
		return nil, errors.New("neither hex nor base64, want 32 to 64 bytes such as from: openssl rand -hex 32")
	case len(key) < minKey || len(key) > maxKey:
		return nil, fmt.Errorf("%d bytes, want %d to %d such as from: openssl rand -hex 32", len(key), minKey, maxKey)
	}
	return key, nil
}

func (c *Config) checkKeyFile() error {
	if c.KeyFile == "" {
		return nil
	}
	_, err := LoadKey(c.KeyFile)
	if err == nil {
		return nil
	}
	var ps problems
	ps.add(c.Origin("key.file"), "key.file", "%v", err)
	return ps.err()
}
