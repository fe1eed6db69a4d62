package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/keepvip/keepvip/internal/base/regular"
)

// mostLinks are as many symbolic links as the kernel follows.
const mostLinks = 40

// safeForRoot refuses a program that somebody else than root could put another one in place of: who can replace a symbolic link on the way
// need not touch the file that it leads to.
func safeForRoot(path string) error { return along(path, onlyRoots) }

// along goes the way that the kernel will go, and looks at each directory and each symbolic link on it, and at the program.
func along(path string, look func(path string, info fs.FileInfo) error) error {
	at, links := "/", 0
	visit := func(path string) error {
		info, err := os.Lstat(path)
		if err != nil {
			return regular.Plain(err)
		}
		return look(path, info)
	}
	if err := visit(at); err != nil {
		return err
	}
	for rest := strings.Split(path, "/"); len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		next := filepath.Join(at, name) // at is free of links, so that .. is what it seems
		if err := visit(next); err != nil {
			return err
		}
		target, err := os.Readlink(next)
		if err != nil { // it is no link
			at = next
			continue
		}
		if links++; links > mostLinks {
			return errors.New("too many symbolic links, want a program")
		}
		if filepath.IsAbs(target) {
			at = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return nil
}

// onlyRoots refuses a file, a directory or a symbolic link that others than root can change or replace.
func onlyRoots(path string, info fs.FileInfo) error {
	owner, known := info.Sys().(*syscall.Stat_t)
	if !known {
		return fmt.Errorf("%s: its owner is not known", show(path))
	}
	open := info.Mode().Perm()&0o022 != 0
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		open = false // its mode means nothing
	case info.IsDir() && info.Mode()&fs.ModeSticky != 0:
		open = false // others can make files there, and not replace those of root
	}
	if owner.Uid != 0 || open {
		return fmt.Errorf("%s can be changed by others than root (owner %d, mode %04o), want root as its owner and 0755, or another user", show(path), owner.Uid, info.Mode().Perm())
	}
	return nil
}
