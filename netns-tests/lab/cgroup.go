package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// ErrNoFreezer and ErrNoThrottle: this machine has no cgroup that can be frozen, or whose processor time can be limited.
var (
	ErrNoFreezer  = errors.New("lab: no cgroup freezer on this machine")
	ErrNoThrottle = errors.New("lab: no cgroup limits processor time on this machine")
)

// cgroup is a group of this process's own.
type cgroup struct{ root, dir string }

var cgroups atomic.Int64

// newCgroup makes one that has a file of that name, which is what the kernel offers there.
func newCgroup(root, file string) (cgroup, bool) {
	g := cgroup{root, filepath.Join(root, fmt.Sprintf("%s%d-%d", runPrefix, os.Getpid(), cgroups.Add(1)))}
	if os.Mkdir(g.dir, 0o755) != nil {
		return g, false
	}
	if _, err := os.Stat(filepath.Join(g.dir, file)); err != nil {
		_ = g.remove()
		return g, false
	}
	return g, true
}

func (g cgroup) remove() error { return os.Remove(g.dir) }

func (g cgroup) write(file, text string) error {
	return os.WriteFile(filepath.Join(g.dir, file), []byte(text), 0o644)
}

// join moves a process into the group.
func (g cgroup) join(p *Process) error { return g.write("cgroup.procs", strconv.Itoa(p.PID())) }

// leave moves it back and removes the group.
func (g cgroup) leave(p *Process) error {
	moved := cgroup{dir: g.root}.join(p)
	if !p.Alive() {
		moved = nil
	}
	return errors.Join(moved, g.remove())
}

// freezer is one of the kernel's two interfaces.
type freezer struct {
	root, file, frozen, thawed string
	shows, done                string // the file that has this text once all stands still
}

func freezers() []freezer {
	return []freezer{
		{root: "/sys/fs/cgroup/freezer", file: "freezer.state", frozen: "FROZEN", thawed: "THAWED", shows: "freezer.state", done: "FROZEN"},
		{root: "/sys/fs/cgroup/unified", file: "cgroup.freeze", frozen: "1", thawed: "0", shows: "cgroup.events", done: "frozen 1"},
		{root: "/sys/fs/cgroup", file: "cgroup.freeze", frozen: "1", thawed: "0", shows: "cgroup.events", done: "frozen 1"},
	}
}

// HasFreezer tells whether [Process.Freeze] works on this machine.
func HasFreezer() bool {
	for _, f := range freezers() {
		if g, ok := newCgroup(f.root, f.file); ok {
			_ = g.remove()
			return true
		}
	}
	return false
}

// Freeze stops the process for a while by the cgroup freezer, as `docker pause`
// does. It calls stands once all threads of the process stand still. The error is ErrNoFreezer where there is none.
func (p *Process) Freeze(length time.Duration, stands func()) error {
	for _, f := range freezers() {
		if g, ok := newCgroup(f.root, f.file); ok {
			defer func() { _ = g.leave(p) }()
			return p.freeze(f, g, length, stands)
		}
	}
	return ErrNoFreezer
}

func (p *Process) freeze(f freezer, g cgroup, length time.Duration, stands func()) (err error) {
	defer try.Say(&err, "lab: freeze")
	try.Do(g.join(p))
	try.Do(g.write(f.file, f.frozen))
	still := func() bool { return strings.Contains(readFile(filepath.Join(g.dir, f.shows)), f.done) }
	if err := p.eventually(still); err != nil {
		return errors.Join(err, g.write(f.file, f.thawed))
	}
	stands()
	time.Sleep(length)
	return g.write(f.file, f.thawed)
}

// throttlePeriod is that of the kernel's limit in microseconds: a process that has used its share stands still until the next one.
const throttlePeriod = 100_000

// throttles are the kernel's two interfaces: where the groups are, and what is written into which of a group's files.
func throttles(quota int) []struct{ root, file, text string } {
	return []struct{ root, file, text string }{
		{"/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", strconv.Itoa(quota)},
		{"/sys/fs/cgroup", "cpu.max", fmt.Sprintf("%d %d", quota, throttlePeriod)},
	}
}

// Throttle lets the process have so many per cent of one processor, until release is called. The error is ErrNoThrottle where nothing can.
func (p *Process) Throttle(percent int) (release func() error, err error) {
	defer try.Say(&err, "lab: throttle %s", p.Name)
	for _, t := range throttles(throttlePeriod / 100 * percent) {
		g, ok := newCgroup(t.root, t.file)
		if !ok {
			continue
		}
		if err := errors.Join(g.write(t.file, t.text), g.join(p)); err != nil {
			return nil, errors.Join(err, g.leave(p))
		}
		return func() error { return g.leave(p) }, nil
	}
	return nil, ErrNoThrottle
}
