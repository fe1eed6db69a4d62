package lab

import (
	"fmt"
	"os/exec"
	"runtime"
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
