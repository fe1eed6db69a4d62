package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

const (
	runRoot   = "/run/keepvip-lab" // one directory per run, each with a lock file
	netnsRoot = "/run/netns"
	runPrefix = "kvl"
)

// runsOf is how the names of the runs of a process begin.
func runsOf(pid int) string { return fmt.Sprintf("%s%d.", runPrefix, pid) }

// lockFile takes an exclusive lock that the kernel drops when the process ends,
// however it ends.
func lockFile(path string, wait bool) (_ *os.File, err error) {
	defer try.Say(&err, "lab: lock %s", path)
	f := try.Get(os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600))
	how := unix.LOCK_EX
	if !wait {
		how |= unix.LOCK_NB
	}
	for err = unix.EINTR; err == unix.EINTR; {
		err = unix.Flock(int(f.Fd()), how)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// claimRun clears the remains of dead runs and makes this run's directory.
func claimRun(run string) (dir string, lock *os.File, err error) {
	defer try.Catch(&err)
	try.Do(os.MkdirAll(runRoot, 0o755))
	defer try.Get(lockFile(filepath.Join(runRoot, ".lock"), true)).Close()
	sweepDead()
	dir = filepath.Join(runRoot, run)
	try.Do(os.MkdirAll(dir, 0o755))
	lock, err = lockFile(filepath.Join(dir, "lock"), false)
	return dir, lock, err
}

// sweepDead removes every run whose process is gone, and namespaces of runs
// whose directory is gone. The caller holds the global lock.
func sweepDead() {
	entries, _ := os.ReadDir(runRoot)
	alive := map[string]bool{}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), runPrefix) {
			continue
		}
		lock, err := lockFile(filepath.Join(runRoot, e.Name(), "lock"), false)
		if err != nil {
			alive[e.Name()] = true
			continue
		}
		removeRun(e.Name())
		lock.Close()
	}
	spaces, _ := os.ReadDir(netnsRoot)
	for _, e := range spaces {
		run, _, ok := cutLast(e.Name(), "-")
		if ok && strings.HasPrefix(run, runPrefix) && !alive[run] {
			removeRun(run)
		}
	}
}

// sweepRun removes one run from outside, once its process has let go of it.
func sweepRun(run string) {
	global, err := lockFile(filepath.Join(runRoot, ".lock"), true)
	if err != nil {
		return
	}
	defer global.Close()
	var lock *os.File // nil where its directory is gone
	comes(time.Second, 20*time.Millisecond, func() bool {
		lock, err = lockFile(filepath.Join(runRoot, run, "lock"), false)
		return err == nil || errors.Is(err, os.ErrNotExist)
	})
	defer lock.Close()
	removeRun(run)
}

// removeRun kills what still runs in the namespaces of run, then deletes them
// and the run's directory.
func removeRun(run string) {
	spaces, _ := os.ReadDir(netnsRoot)
	for _, e := range spaces {
		if owner, _, ok := cutLast(e.Name(), "-"); !ok || owner != run {
			continue
		}
		path := filepath.Join(netnsRoot, e.Name())
		for _, pid := range processesIn(path) {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		removeNamespace(path)
	}
	if run != "" {
		_ = os.RemoveAll(filepath.Join(runRoot, run))
	}
}

func removeNamespace(path string) {
	for unix.Unmount(path, unix.MNT_DETACH) == nil {
	}
	_ = os.Remove(path)
}

// Processes are those that live in the namespace, other than this one.
func (n *Namespace) Processes() []int { return processesIn(n.path()) }

// processesIn lists the processes, other than this one, that live in the
// network namespace bound to path.
func processesIn(path string) []int {
	var want unix.Stat_t
	if err := unix.Stat(path, &want); err != nil {
		return nil
	}
	all, _ := numbersIn("/proc")
	return where(all, func(pid int) bool {
		var got unix.Stat_t
		err := unix.Stat(fmt.Sprintf("/proc/%d/ns/net", pid), &got)
		return err == nil && pid != os.Getpid() && got.Dev == want.Dev && got.Ino == want.Ino
	})
}

// numbersIn lists the names in a directory that are numbers, as those of processes and threads are in /proc.
func numbersIn(dir string) (found []int, err error) {
	defer try.Catch(&err)
	for _, e := range try.Get(os.ReadDir(dir)) {
		if number, err := strconv.Atoi(e.Name()); err == nil {
			found = append(found, number)
		}
	}
	return found, nil
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
