package state

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Hold says since when, and why, an operator wants this node to stay out of an election. Its JSON form is part of the file and of the status.
type Hold struct {
	Since  time.Time `json:"since"`
	Reason string    `json:"reason,omitempty"`
}

// Store is the file. It is safe from any goroutine.
type Store struct {
	path string

	mu   sync.Mutex // guards held
	held map[string]Hold
}

// fileName is in the state directory.
const fileName = "holds.json"

// Open reads the file in dir. Neither has to be there. The error names the file, and what to do about it.
func Open(dir string) (*Store, error) {
	s := &Store{path: filepath.Join(dir, fileName)}
	b, err := Load(s.path, most)
	if err != nil {
		return nil, fmt.Errorf("state: %w; it says whether this node may hold the addresses", err)
	}
	if s.held, err = parse(b); err != nil {
		return nil, fmt.Errorf("state: %s: %w", s.path, err)
	}
	return s, nil
}

// Held returns the hold of the virtual address of that name.
func (s *Store) Held(name string) (Hold, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, ok := s.held[name]
	return h, ok
}

// Hold keeps h for the virtual addresses of these names.
func (s *Store) Hold(names []string, h Hold) error {
	return s.change(func(held map[string]Hold) {
		for _, n := range names {
			held[n] = h
		}
	})
}

// Writable tells whether Hold is likely to succeed: the directory takes a new file now.
func (s *Store) Writable() error {
	if err := os.MkdirAll(filepath.Dir(s.path), dirMode); err != nil {
		return unwritable(err)
	}
	fresh, err := prepare(s.path, nil)
	if err != nil {
		return unwritable(err)
	}
	return os.Remove(fresh)
}

func unwritable(err error) error {
	return fmt.Errorf("state: %w; is --state-dir on a disk that can be written?", err)
}

// Resume ends the holds of these names.
func (s *Store) Resume(names []string) error {
	return s.change(func(held map[string]Hold) {
		for _, n := range names {
			delete(held, n)
		}
	})
}

// change is all or nothing: with an error nothing has changed. A change that changes nothing needs no disk.
func (s *Store) change(edit func(map[string]Hold)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := maps.Clone(s.held)
	edit(next)
	if maps.Equal(next, s.held) {
		return nil
	}
	if err := Replace(s.path, encode(next)); err != nil {
		return unwritable(err)
	}
	s.held = next
	return nil
}
