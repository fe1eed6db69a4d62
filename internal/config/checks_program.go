package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"strings"
	"syscall"

	"github.com/keepvip/keepvip/internal/base/regular"
)

// checkPrograms finds the users and the programs of all checks and hooks on this machine: one that cannot run would be found out
// only when it is needed.
func (k *validator) checkPrograms() {
	for i := range k.VIPs {
		v := k.vip(i)
		for j := range v.v.Checks {
			if h := &v.v.Checks[j]; h.Kind == CheckExec {
				listedCheck{vipValidator: v, index: j, h: h}.program()
			}
		}
		for j := range v.v.Hooks {
			v.v.Hooks[j].program(v.failHook(j))
		}
	}
	k.FIFO.owner(k.bad)
}

func (l listedCheck) program() {
	var err error
	if l.h.UID, l.h.GID, err = lookUp(l.h.User, l.ChecksAsRoot != rootNever); err != nil {
		l.fail("user", "%v", err)
		return
	}
	err = runnable(l.h.Command[0], l.h.UID, l.h.GID)
	if err == nil && l.ChecksAsRoot == rootSafe && (l.h.UID == 0 || l.h.GID == 0) {
		err = safeForRoot(l.h.Command[0])
	}
	if err != nil {
		l.fail("command", "%s: %v", show(l.h.Command[0]), err)
	}
}

// UserExists tells whether this machine has a user, with a group of its own behind a colon or without.
func UserExists(user string) bool {
	_, _, err := lookUp(user, true)
	return err == nil
}

// SafeForRoot tells how somebody else than root could put another program in the place of one. It is nil where nobody could.
func SafeForRoot(path string) error { return safeForRoot(path) }

func (h *Hook) program(fail func(key, format string, args ...any)) {
	var err error
	if h.UID, h.GID, err = lookUp(h.User, true); err != nil {
		fail("user", "%v", err)
		return
	}
	err = runnable(h.Command[0], h.UID, h.GID)
	if err == nil && h.UID == 0 {
		err = safeForRoot(h.Command[0])
	}
	if err != nil {
		fail("command", "%s: %v", show(h.Command[0]), err)
	}
}

func (f *FIFO) owner(fail func(key, format string, args ...any)) {
	if f.User == "" {
		f.UID, f.GID = uint32(os.Geteuid()), uint32(os.Getegid())
		return
	}
	var err error
	if f.UID, f.GID, err = lookUp(f.User, true); err != nil {
		fail("notifyFIFO.user", "%v", err)
	}
}

// lookUp finds a user, with its own group, or with the one that is named behind a colon. With privileged it may be root.
func lookUp(name string, privileged bool) (uid, gid uint32, err error) {
	who, group, both := strings.Cut(name, ":")
	if uid, gid, err = findUser(who); err != nil {
		return 0, 0, err
	}
	if both {
		if gid, err = findGroup(group); err != nil {
			return 0, 0, err
		}
	}
	_, numeric := id(who)
	switch {
	case privileged || uid != 0 && gid != 0:
		return uid, gid, nil
	case numeric:
		return 0, 0, fmt.Errorf("%s is root, want an unprivileged user, or checksAsRoot: safe", name)
	}
	return 0, 0, fmt.Errorf("%s has user id %d and group id %d, want an unprivileged user, or checksAsRoot: safe", show(name), uid, gid)
}

// findUser finds a user by name or id; an id is also that of the group.
func findUser(name string) (uid, gid uint32, err error) {
	if n, numeric := id(name); numeric {
		return n, n, nil
	}
	if u, err := user.Lookup(name); err == nil {
		uid, ok := id(u.Uid)
		gid, both := id(u.Gid)
		if ok && both {
			return uid, gid, nil
		}
	}
	return 0, 0, fmt.Errorf("%s: no such user here, want one that exists, or ids such as 65534:65534", show(name))
}

func findGroup(name string) (gid uint32, err error) {
	if n, numeric := id(name); numeric {
		return n, nil
	}
	if g, err := user.LookupGroup(name); err == nil {
		if gid, ok := id(g.Gid); ok {
			return gid, nil
		}
	}
	return 0, fmt.Errorf("%s: no such group here, want one that exists, or ids such as 65534:65534", show(name))
}

func id(s string) (n uint32, ok bool) {
	u, err := strconv.ParseUint(s, 10, 32)
	const nobody = 1<<32 - 1 // means no change to the kernel
	return uint32(u), err == nil && u < nobody
}

// Absent is an error where there is no program at path. Where this process may not look, it says nothing.
func Absent(path string) error {
	_, err := program(path)
	if errors.Is(err, errNoProgram) || errors.Is(err, errNoFile) {
		return err
	}
	return nil
}

var (
	errNoProgram = errors.New("no such program here, want one that exists")
	errNoFile    = errors.New("not a regular file, want a program")
)

func program(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errNoProgram
	case err != nil:
		return nil, regular.Plain(err)
	case !info.Mode().IsRegular():
		return nil, errNoFile
	}
	return info, nil
}

func runnable(path string, uid, gid uint32) error {
	info, err := program(path)
	if err != nil {
		return err
	}
	if !mayRun(info, uid, gid) {
		return fmt.Errorf("mode %04o does not let user %d run it, want 0755", info.Mode().Perm(), uid)
	}
	return reachable(path, uid, gid)
}

// reachable refuses a program that is below a directory which the user may not enter.
func reachable(path string, uid, gid uint32) error {
	if uid == 0 {
		return nil
	}
	return along(path, func(at string, info fs.FileInfo) error {
		if info.IsDir() && !mayRun(info, uid, gid) {
			return fmt.Errorf("the directory %s (mode %04o) does not let user %d in, want 0755, the program elsewhere, or another user", show(at), info.Mode().Perm(), uid)
		}
		return nil
	})
}

// mayRun tells whether the file's mode lets a user without privileges run it.
func mayRun(info fs.FileInfo, uid, gid uint32) bool {
	mode := info.Mode().Perm()
	owner, known := info.Sys().(*syscall.Stat_t)
	switch {
	case uid == 0:
		return mode&0o111 != 0
	case known && owner.Uid == uid:
		return mode&0o100 != 0
	case known && owner.Gid == gid:
		return mode&0o010 != 0
	}
	return mode&0o001 != 0
}
