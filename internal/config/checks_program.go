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
)

// checkPrograms finds the users and the programs of all checks on this machine: a check that cannot run would be found out
// only when it is needed.
func (c *Config) checkPrograms(ps *problems) {
	for i := range c.VIPs {
		v := vipValidator{c: c, ps: ps, i: i, v: &c.VIPs[i]}
		for j := range v.v.Checks {
			if h := &v.v.Checks[j]; h.Kind == CheckExec {
				listedCheck{vipValidator: v, index: j, h: h}.program()
			}
		}
	}
}

func (l listedCheck) program() {
	var err error
	if l.h.UID, l.h.GID, err = lookUp(l.h.User); err != nil {
		l.fail("user", "%v", err)
		return
	}
	if err := runnable(l.h.Command[0], l.h.UID, l.h.GID); err != nil {
		l.fail("command", "%s: %v", show(l.h.Command[0]), err)
	}
}

// lookUp finds an unprivileged user.
func lookUp(name string) (uid, gid uint32, err error) {
	if u, g, numeric := ids(name); numeric {
		if u == 0 || g == 0 {
			return 0, 0, fmt.Errorf("%s is root, want an unprivileged user", name)
		}
		return u, g, nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return 0, 0, fmt.Errorf("%s: no such user here, want one that exists, or ids such as 65534:65534", show(name))
	}
	if uid, gid, ok := ids(u.Uid + ":" + u.Gid); ok && uid != 0 && gid != 0 {
		return uid, gid, nil
	}
	return 0, 0, fmt.Errorf("%s has user id %s and group id %s, want an unprivileged user", show(name), u.Uid, u.Gid)
}

// ids reads "1000" and "1000:1000"; a user id alone is also the group's.
func ids(s string) (uid, gid uint32, ok bool) {
	first, second, both := strings.Cut(s, ":")
	if !both {
		second = first
	}
	u, err1 := strconv.ParseUint(first, 10, 32)
	g, err2 := strconv.ParseUint(second, 10, 32)
	const nobody = 1<<32 - 1 // means no change to the kernel
	return uint32(u), uint32(g), err1 == nil && err2 == nil && u < nobody && g < nobody
}

func runnable(path string, uid, gid uint32) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("no such program here, want one that exists")
	case err != nil:
		return plain(err)
	case !info.Mode().IsRegular():
		return errors.New("not a regular file, want a program")
	}
	if !mayRun(info, uid, gid) {
		return fmt.Errorf("mode %04o does not let user %d run it, want 0755", info.Mode().Perm(), uid)
	}
	return nil
}

// mayRun tells whether the file's mode lets a user without privileges run it.
func mayRun(info fs.FileInfo, uid, gid uint32) bool {
	mode := info.Mode().Perm()
	owner, known := info.Sys().(*syscall.Stat_t)
	switch {
	case known && owner.Uid == uid:
		return mode&0o100 != 0
	case known && owner.Gid == gid:
		return mode&0o010 != 0
	}
	return mode&0o001 != 0
}
