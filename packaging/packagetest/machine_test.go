//go:build packages

package packagetest

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// machine is a booted systemd on an overlay of this machine's root.
type machine struct {
	t     *testing.T
	upper string // what differs from this machine
	pid   int    // of systemd, as seen from here
}

// bootScript makes the file systems that systemd expects of a container, and becomes it. $1 is the root.
const bootScript = `set -e
mount --make-rprivate /
cd "$1"
mount --bind . .
cd "$1"
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs dev
for d in null zero full random urandom tty; do touch dev/$d; mount --bind /dev/$d dev/$d; done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp
mkdir run/old
pivot_root . run/old
cd /
umount -l run/old
rmdir run/old
# Two ends of a cable, so that there is a network.
ip link set lo up
ip link add eth0 type veth peer name cable
ip addr add 10.0.0.11/24 dev eth0
ip link set cable up
ip link set eth0 up
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin container=keepvip /lib/systemd/systemd --unit=packagetest.target --log-target=console --log-level=warning
`

// target boots nothing but what its units ask for: none of this machine's services.
const target = "[Unit]\nDescription=package tests\nDefaultDependencies=no\nRequires=sysinit.target\nAllowIsolate=yes\n"

func boot(t *testing.T) *machine {
	t.Helper()
	require.Zero(t, os.Getuid(), "this makes namespaces: run it as root")
	dir := t.TempDir()
	require.NoError(t, syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=755"))
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	root, m := filepath.Join(dir, "root"), &machine{t: t, upper: filepath.Join(dir, "upper")}
	for _, d := range []string{root, m.upper, filepath.Join(dir, "work")} {
		require.NoError(t, os.Mkdir(d, 0o755))
	}
	options := fmt.Sprintf("lowerdir=/,upperdir=%s,workdir=%s", m.upper, filepath.Join(dir, "work"))
	require.NoError(t, syscall.Mount("overlay", root, "overlay", 0, options))
	t.Cleanup(func() { _ = syscall.Unmount(root, syscall.MNT_DETACH) })
	etc := filepath.Join(root, "etc/systemd/system")
	require.NoError(t, os.WriteFile(filepath.Join(etc, "packagetest.target"), []byte(target), 0o644))
	for _, unit := range []string{"network-online.target", "systemd-udevd.service", "systemd-networkd.service", "systemd-networkd.socket", "ifupdown-wait-online.service"} {
		require.NoError(t, os.RemoveAll(filepath.Join(etc, unit)))
		require.NoError(t, os.Symlink("/dev/null", filepath.Join(etc, unit)))
	}
	// Where this machine is itself a container, it may forbid packages to start services and to install manual pages.
	for _, path := range []string{"usr/sbin/policy-rc.d", "etc/dpkg/dpkg.cfg.d"} {
		require.NoError(t, os.RemoveAll(filepath.Join(root, path)))
	}
	m.start(root)
	return m
}

func (m *machine) start(root string) {
	group, err := os.Open(m.makeGroup())
	require.NoError(m.t, err)
	defer group.Close()
	log, err := os.Create(filepath.Join(m.t.TempDir(), "console"))
	require.NoError(m.t, err)
	cmd := exec.Command("sh", "-c", bootScript, "sh", root)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWCGROUP,
		UseCgroupFD: true, CgroupFD: int(group.Fd()), Setsid: true,
	}
	require.NoError(m.t, cmd.Start())
	m.pid = cmd.Process.Pid
	m.t.Cleanup(func() {
		_ = cmd.Process.Kill() // with it goes everything in its namespace
		_ = cmd.Wait()
		if text, err := os.ReadFile(log.Name()); err == nil && m.t.Failed() {
			m.t.Logf("console:\n%s", text)
		}
	})
	m.eventually("systemd is up", func() bool {
		out, _ := m.try("systemctl", "is-system-running")
		return strings.HasPrefix(out, "running") || strings.HasPrefix(out, "degraded")
	})
}

// makeGroup makes a control group for the machine and returns its directory.
func (m *machine) makeGroup() string {
	base := "/sys/fs/cgroup"
	if _, err := os.Stat(base + "/unified"); err == nil {
		base += "/unified"
	}
	dir := fmt.Sprintf("%s/keepvip-packagetest-%d", base, os.Getpid())
	require.NoError(m.t, os.MkdirAll(dir, 0o755))
	m.t.Cleanup(func() {
		for range 50 { // the kernel empties it in its own time
			if removeGroup(dir) == nil {
				return
			}
			wait()
		}
	})
	return dir
}

func removeGroup(dir string) error {
	var all []string
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			all = append(all, p)
		}
		return nil
	})
	for i := len(all) - 1; i >= 0; i-- {
		_ = os.Remove(all[i])
	}
	_, err := os.Stat(dir)
	if os.IsNotExist(err) {
		return nil
	}
	return syscall.EBUSY
}

func wait() { <-time.After(100 * time.Millisecond) }

// try runs a command on the machine.
func (m *machine) try(command ...string) (string, error) {
	args := append([]string{
		"-t", strconv.Itoa(m.pid), "-m", "-p", "-n", "-u", "-i", "-C", "--", "env", "-i",
		"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "DEBIAN_FRONTEND=noninteractive", "LANG=C.UTF-8",
	}, command...)
	var out bytes.Buffer
	cmd := exec.Command("nsenter", args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// must runs a command that has to succeed.
func (m *machine) must(command ...string) string {
	m.t.Helper()
	out, err := m.try(command...)
	require.NoError(m.t, err, "%v: %s", command, out)
	return out
}

func (m *machine) write(path, text string) {
	m.t.Helper()
	m.must("sh", "-c", `mkdir -p "$(dirname "$1")" && umask 077 && printf '%s' "$2" >"$1"`, "sh", path, text)
}

// push makes a file that is too large for an argument.
func (m *machine) push(data []byte, to string) {
	m.t.Helper()
	cmd := exec.Command("nsenter", "-t", strconv.Itoa(m.pid), "-m", "--", "tee", to)
	cmd.Stdin = bytes.NewReader(data)
	require.NoError(m.t, cmd.Run())
}

func (m *machine) exists(path string) bool {
	_, err := m.try("test", "-e", path)
	return err == nil
}

// property is one of the service's, as systemctl shows it.
func (m *machine) property(name string) string {
	out, _ := m.try("systemctl", "show", "--value", "--property="+name, "keepvip.service")
	return strings.TrimSpace(out)
}

func (m *machine) holds(address string) bool {
	out, _ := m.try("ip", "-o", "addr", "show", "dev", "eth0")
	return strings.Contains(out, " "+address+"/")
}

func (m *machine) eventually(what string, is func() bool) {
	m.t.Helper()
	require.Eventually(m.t, is, time.Minute, 200*time.Millisecond, what)
}

// left lists what of keepvip is on the machine that was not there at first.
func (m *machine) left() []string {
	var found []string
	err := filepath.WalkDir(m.upper, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		gone := d.Type()&fs.ModeCharDevice != 0 // how an overlay says that a file was removed
		if strings.Contains(d.Name(), "keepvip") && !gone {
			found = append(found, strings.TrimPrefix(p, m.upper))
		}
		return nil
	})
	require.NoError(m.t, err)
	return found
}
