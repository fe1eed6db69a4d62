//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

const cgroupRoot = "/sys/fs/cgroup"

// hierarchies are the directories in which a control group has to be made.
func hierarchies() ([]string, error) {
	if _, err := os.Stat(filepath.Join(cgroupRoot, "cgroup.controllers")); err == nil {
		controllers := filepath.Join(cgroupRoot, "cgroup.subtree_control")
		for _, c := range []string{"+cpuset", "+cpu", "+memory", "+pids", "+io", "+hugetlb"} {
			_ = os.WriteFile(controllers, []byte(c), 0o644) // what is not there the kubelet will name
		}
		return []string{cgroupRoot}, nil
	}
	found, err := filepath.Glob(cgroupRoot + "/*/cgroup.procs")
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("e2e: no control groups in %s", cgroupRoot)
	}
	var out []string
	for _, f := range found {
		out = append(out, filepath.Dir(f))
	}
	return out, err
}

// makeGroup makes a control group for a machine, on the processors that this
// process may use: whoever confined the tests to some means their containers, too.
func makeGroup(name string) (err error) {
	defer try.Say(&err, "e2e: control group")
	all := try.Get(hierarchies())
	for _, h := range all {
		dir := filepath.Join(h, name)
		try.Do(os.MkdirAll(dir, 0o755))
		// A machine is no process among the others of this one: it gets the weight of many.
		_ = os.WriteFile(filepath.Join(dir, "cpu.shares"), []byte("20480"), 0o644)
		_ = os.WriteFile(filepath.Join(dir, "cpu.weight"), []byte("2000"), 0o644)
		if mems, err := os.ReadFile(filepath.Join(h, "cpuset.mems")); err == nil {
			try.Do(errors.Join(
				os.WriteFile(filepath.Join(dir, "cpuset.mems"), mems, 0o644),
				os.WriteFile(filepath.Join(dir, "cpuset.cpus"), []byte(processors()), 0o644),
			))
		}
	}
	return nil
}

func processors() string {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return ""
	}
	var list []string
	for i := range 1024 {
		if set.IsSet(i) {
			list = append(list, fmt.Sprint(i))
		}
	}
	return strings.Join(list, ",")
}

// removeGroup removes the group and those in it; the kernel empties them in its
// own time after the last process.
func removeGroup(name string) {
	all, _ := hierarchies()
	for _, h := range all {
		for range 50 {
			if removeTree(filepath.Join(h, name)) {
				break
			}
			pause(100 * time.Millisecond)
		}
	}
}

func removeTree(root string) (gone bool) {
	var dirs []string
	_ = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, p)
		}
		return nil
	})
	for i := len(dirs) - 1; i >= 0; i-- {
		_ = os.Remove(dirs[i])
	}
	_, err := os.Stat(root)
	return errors.Is(err, fs.ErrNotExist)
}

// pause lets real time pass: what is waited for happens in other processes.
func pause(d time.Duration) { <-time.After(d) }
