//go:build e2e

package e2e

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

//go:embed boot.sh
var bootScript string

//go:embed containerd.toml
var containerdConfig string

const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// machine is a node that boots: containerd, and a kubelet once kubeadm has made
// its configuration.
type machine struct {
	*lab.Node
	data    string // what survives a power-off
	group   string // its control group
	keepvip string // the program outside of the image
	env     []string
	execs   atomic.Int64 // names of what was run in containers

	init *exec.Cmd
	gone chan struct{} // closed when init has ended
}

// newMachine prepares a machine that is switched off.
func newMachine(n *lab.Node, data, sandbox, hosts string, tools tools) (_ *machine, err error) {
	defer try.Say(&err, "e2e: machine %s", n.Label)
	m := &machine{Node: n, data: filepath.Join(data, n.Label), group: groupName(os.Getpid(), n.Label), keepvip: tools.keepvip}
	try.Do(os.MkdirAll(m.data, 0o755))
	config := filepath.Join(m.data, "containerd.toml")
	try.Do(os.WriteFile(config, []byte(strings.Replace(containerdConfig, "SANDBOX", sandbox, 1)), 0o644))
	m.env = []string{
		"PATH=" + tools.bin + ":" + searchPath, "HOME=/root", "data=" + m.data, "node=" + n.Label, "hosts=" + hosts, "config=" + config, "bin=" + tools.bin, "group=/" + m.group,
	}
	return m, makeGroup(m.group)
}

func groupName(pid int, label string) string { return fmt.Sprintf("keepvip-e2e-%d-%s", pid, label) }

// boot switches the machine on and waits for containerd.
func (m *machine) boot() (err error) {
	defer try.Say(&err, "e2e: boot %s", m.Label)
	cmd := exec.Command("bash", "-c", bootScript)
	cmd.Env = m.env
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC, Setsid: true, Pdeathsig: syscall.SIGKILL,
	}
	// kubeadm and the kubelet find the machine's own address by the default route.
	try.Get(m.Run("ip", "route", "replace", "default", "via", "10.77.0.254"))
	try.Do(m.Sysctl("net/ipv4/ip_forward", "1"))
	log := try.Get(os.OpenFile(filepath.Join(m.data, "boot.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644))
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	try.Do(m.Do(cmd.Start))
	m.init, m.gone = cmd, make(chan struct{})
	go func(gone chan struct{}) {
		_ = cmd.Wait()
		close(gone)
	}(m.gone)
	return m.awaitContainerd()
}

func (m *machine) awaitContainerd() error {
	for end := time.Now().Add(30 * time.Second); ; pause(100 * time.Millisecond) {
		_, err := m.run("ctr", "version")
		if err == nil {
			return nil
		}
		select {
		case <-m.gone:
			return fmt.Errorf("its init has ended:\n%s", m.logs("boot.log"))
		default:
		}
		if time.Now().After(end) {
			return fmt.Errorf("%w\n%s%s", err, m.logs("boot.log"), m.logs("containerd.log"))
		}
	}
}

// powerOff cuts the machine off and ends everything on it at once.
func (m *machine) powerOff() error {
	if m.init == nil {
		return nil
	}
	_, err := m.CutPort()
	_ = m.init.Process.Kill() // with it goes all of its PID namespace
	<-m.gone
	m.KillAll()
	m.init = nil
	return err
}

// powerOn boots the machine with a fresh network and the disk that it had.
func (m *machine) powerOn() (err error) {
	defer try.Catch(&err)
	try.Do(m.PowerOn())
	return m.boot()
}

// remove switches the machine off for good.
func (m *machine) remove() {
	_ = m.powerOff()
	removeGroup(m.group)
}

// run runs a command on the machine to its end and returns what it printed.
func (m *machine) run(args ...string) (string, error) {
	if m.init == nil {
		return "", fmt.Errorf("e2e: %s on %s: it is off", args[0], m.Label)
	}
	var out, errs bytes.Buffer
	cmd := exec.Command("nsenter", append([]string{"-t", strconv.Itoa(m.init.Process.Pid), "-m", "-p", "-u", "-i", "--"}, args...)...)
	cmd.Env = m.env
	cmd.Stdout, cmd.Stderr = &out, &errs
	// By way of the node's thread: it is in the network, and has no real-time policy that a child would inherit.
	if err := m.Do(cmd.Start); err != nil {
		return "", fmt.Errorf("e2e: %s on %s: %w", args[0], m.Label, err)
	}
	if err := cmd.Wait(); err != nil {
		return out.String(), fmt.Errorf("e2e: %s on %s: %w\n%s%s", strings.Join(args, " "), m.Label, err, out.String(), errs.String())
	}
	return out.String(), nil
}

// file is where a path of the machine's disk is found from outside.
func (m *machine) file(name string) string { return filepath.Join(m.data, "disk", name) }

// pids are the processes on the machine that run the program of that name.
func (m *machine) pids(name string) []int {
	return slices.DeleteFunc(m.Processes(), func(pid int) bool {
		program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		return err != nil || filepath.Base(program) != name
	})
}

// signal sends a signal to every process with that name; there has to be one.
func (m *machine) signal(name string, sig unix.Signal) error {
	pids := m.pids(name)
	if len(pids) == 0 {
		return fmt.Errorf("e2e: no %s on %s", name, m.Label)
	}
	for _, pid := range pids {
		if err := unix.Kill(pid, sig); err != nil {
			return fmt.Errorf("e2e: signal %s on %s: %w", name, m.Label, err)
		}
	}
	return nil
}

// logs is the end of one of the machine's own logs.
func (m *machine) logs(name string) string {
	text, err := os.ReadFile(filepath.Join(m.data, name))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(string(text), "\n")
	return fmt.Sprintf("--- %s of %s\n%s\n", name, m.Label, strings.Join(lines[max(0, len(lines)-30):], "\n"))
}
