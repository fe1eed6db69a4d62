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

// Store keeps holds over restarts, in a file. It is safe from any goroutine.
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

// Prepare writes what is to be kept of h for these names beside the file, and takes all the room on the disk that it needs. keep makes it the
// file, which takes no more room; it has lasted when keep returns. With an error nothing has changed. drop gives the change up; after keep
// it does nothing.
func (s *Store) Prepare(names []string, h Hold) (keep func() error, drop func(), _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	edit := func(held map[string]Hold) {
		for _, n := range names {
			held[n] = h
		}
	}
	from, next := s.held, maps.Clone(s.held)
	edit(next)
	if err := os.MkdirAll(filepath.Dir(s.path), dirMode); err != nil {
		return nil, nil, unwritable(err)
	}
	fresh, err := prepare(s.path, encode(next))
	if err != nil {
		return nil, nil, unwritable(err)
	}
	drop = func() { _ = os.Remove(fresh) } // what stays goes with the next start
	keep = func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !maps.Equal(from, s.held) { // another command came between
			return s.replace(edit)
		}
		if err := install(fresh, s.path); err != nil {
			return unwritable(err)
		}
		s.held = next
		return nil
	}
	return keep, drop, nil
}

func unwritable(err error) error {
	return fmt.Errorf("state: %w; is --state-dir on a disk that can be written?", err)
}

// Resume ends the holds of these names. The last of them ends also on a disk that is full: without the file nothing is held.
func (s *Store) Resume(names []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.replace(func(held map[string]Hold) {
		for _, n := range names {
			delete(held, n)
		}
	})
}

// replace is all or nothing: with an error nothing has changed. A change that changes nothing needs no disk. The caller holds the lock.
func (s *Store) replace(edit func(map[string]Hold)) error {
	next := maps.Clone(s.held)
	edit(next)
	if maps.Equal(next, s.held) {
		return nil
	}
	err := Replace(s.path, encode(next))
	if err != nil && len(next) == 0 && os.Remove(s.path) == nil {
		err = SyncDir(filepath.Dir(s.path))
	}
	if err != nil {
		return unwritable(err)
	}
	s.held = next
	return nil
}
