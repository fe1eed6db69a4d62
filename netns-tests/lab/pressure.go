package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Pressure is work that keeps every processor busy with short tasks.
type Pressure struct {
	loops []*exec.Cmd
}

// Press starts so many loops per processor that each run one short program
// after the other, at the ordinary priority.
func (l *Lab) Press(perCPU int) (*Pressure, error) {
	p := &Pressure{}
	for range perCPU * runtime.NumCPU() {
		cmd := exec.Command("sh", "-c", "while :; do /bin/true; done")
		// Its own group, so that the loop and its task end together.
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
		if err := l.Switch.Do(cmd.Start); err != nil {
			p.Release()
			return nil, fmt.Errorf("lab: start a loop of short tasks: %w", err)
		}
		p.loops = append(p.loops, cmd)
	}
	return p, nil
}

// Release ends the loops.
func (p *Pressure) Release() {
	for _, cmd := range p.loops {
		_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
		_ = cmd.Wait()
	}
	p.loops = nil
}

// ErrNoThrottle: this machine has no cgroup whose processor time can be limited.
var ErrNoThrottle = errors.New("lab: no cgroup limits processor time on this machine")

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
	for _, t := range throttles(throttlePeriod / 100 * percent) {
		dir := filepath.Join(t.root, fmt.Sprintf("%s%d-%d", runPrefix, os.Getpid(), p.PID()))
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		if write(filepath.Join(dir, t.file), t.text) != nil {
			_ = os.Remove(dir)
			continue
		}
		release := func() error {
			moved := write(filepath.Join(t.root, "cgroup.procs"), strconv.Itoa(p.PID()))
			if !p.Alive() {
				moved = nil
			}
			return errors.Join(moved, os.Remove(dir))
		}
		if err := write(filepath.Join(dir, "cgroup.procs"), strconv.Itoa(p.PID())); err != nil {
			return nil, errors.Join(fmt.Errorf("lab: throttle %s: %w", p.Name, err), release())
		}
		return release, nil
	}
	return nil, ErrNoThrottle
}
