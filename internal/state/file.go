package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

const (
	// format is the version of the file.
	format = 1
	// most is more than the file ever needs, in bytes.
	most     = 1 << 20
	dirMode  = 0o750
	fileMode = 0o600
)

const remedy = "restore it, or remove it to let this node take part"

// document is what the file holds.
type document struct {
	Version int             `json:"version"`
	Held    map[string]Hold `json:"held"`
}

// read returns nothing when there is no file.
func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w; it says whether this node may hold the addresses", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, fmt.Errorf("%w; it says whether this node may hold the addresses", err)
	}
	return b, nil
}

// parse takes no more for granted than that b is what read returned.
func parse(b []byte) (map[string]Hold, error) {
	held := map[string]Hold{}
	if b == nil {
		return held, nil
	}
	if len(b) > most {
		return nil, fmt.Errorf("more than %d bytes; %s", most, remedy)
	}
	var v struct {
		Version *int `json:"version"`
	}
	if err := json.Unmarshal(b, &v); err != nil {
		return nil, fmt.Errorf("%w; %s", err, remedy)
	}
	if v.Version == nil || *v.Version != format {
		return nil, fmt.Errorf("version %s, want %d: another release wrote it; run that one, or %s", versionText(v.Version), format, remedy)
	}
	d := document{Held: held}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil {
		return nil, fmt.Errorf("%w; %s", err, remedy)
	}
	if d.Held == nil {
		return nil, fmt.Errorf("held null, want an object; %s", remedy)
	}
	return d.Held, nil
}

func versionText(v *int) string {
	if v == nil {
		return "missing"
	}
	return fmt.Sprint(*v)
}

func encode(held map[string]Hold) []byte {
	b, _ := json.MarshalIndent(document{Version: format, Held: held}, "", "  ") // never fails for these types
	return append(b, '\n')
}

// Replace replaces a file of the state directory as a whole, and makes the directory: a crash leaves the old file or the new one, and what was
// reported as done stays done.
func Replace(path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), dirMode); err != nil {
		return err
	}
	return write(path, b)
}

// write is Replace in a directory that is there.
func write(path string, b []byte) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".holds-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails once it is renamed
	_, err = f.Write(b)
	err = errors.Join(err, f.Chmod(fileMode), f.Sync())
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := syncDir(dir); err != nil { // after the new name there is no way back
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir puts the new name on the disk.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
