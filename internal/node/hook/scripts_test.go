package hook

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/config"
)

// inside tells a child of this test that it has a file system of its own.
const inside = "KEEPVIP_TEST_OWN_FILES"

// Scripts as they stand in the documentation that keepalived's users go by, unchanged: what they call (systemctl, logger, mail, ip) says
// how it was called. They run as root, with the paths that they have, in a mount namespace of the test's own.
func TestScriptsOfKeepalivedRunUnchanged(t *testing.T) {
	switch {
	case os.Getenv(inside) != "":
		scripts(t)
		return
	case os.Getuid() != 0:
		t.Log("not root: the scripts write below /var/run")
		return
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	assert.NoError(t, err, "%s", out)
}

// ownFiles puts an empty directory in place of /run, and programs that tell how they are called in front of all others.
func ownFiles(t *testing.T) (calls func() []string) {
	t.Helper()
	const log = "/run/calls"
	require.NoError(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	dir, err := os.Getwd()
	require.NoError(t, err)
	text := map[string][]byte{}
	samples, err := filepath.Glob(filepath.Join(dir, "testdata", "*.sh"))
	require.NoError(t, err)
	require.Len(t, samples, 5)
	for _, path := range samples {
		text[filepath.Base(path)], err = os.ReadFile(path)
		require.NoError(t, err)
	}
	for _, place := range []string{"/run", "/usr/local/sbin"} {
		require.NoError(t, unix.Mount("tmpfs", place, "tmpfs", 0, "mode=0755"))
	}
	for _, name := range []string{"systemctl", "logger", "mail", "ip", "hostname"} {
		script := "#!/bin/sh\nexec 9>>" + log + "\nflock 9\n{ printf '%s' " + name + "; printf ' <%s>' \"$@\"; echo; } >&9\n"
		switch name {
		case "hostname":
			script = "#!/bin/sh\necho cp-1\n"
		case "mail":
			script += "sed 's/^/  /' >&9\n"
		}
		require.NoError(t, os.WriteFile(filepath.Join("/usr/local/sbin", name), []byte(script), 0o755))
	}
	for name, text := range text {
		require.NoError(t, os.WriteFile(filepath.Join("/run", name), text, 0o755))
	}
	return func() []string {
		data, err := os.ReadFile(log)
		if err != nil {
			return nil
		}
		require.NoError(t, os.Remove(log))
		return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	}
}

func scripts(t *testing.T) {
	calls := ownFiles(t)
	b := newBench(t)
	each := func(name string) Program {
		return Program{Hook: config.Hook{Command: []string{"/run/" + name}, Type: config.HookInstance, Arguments: true, Timeout: 20 * time.Second}}
	}
	in := func(s config.HookState, command ...string) Program {
		return Program{Hook: config.Hook{Command: command, Type: config.HookInstance, States: []config.HookState{s}, Timeout: 20 * time.Second}}
	}
	b.Use([]Entry{{Name: "apiserver", Told: "VI_1", Programs: []Program{
		each("service.sh"), each("state.sh"), each("log.sh"),
		in(config.HookMaster, "/run/mail.sh", "master"), in(config.HookBackup, "/run/mail.sh", "backup"), in(config.HookFault, "/run/mail.sh", "fault"),
		in(config.HookMaster, "/run/route.sh", "add"), in(config.HookBackup, "/run/route.sh", "del"), in(config.HookStop, "/run/route.sh", "del"),
	}}}, nil)
	tell := func(s config.HookState, runs uint64) []string {
		before := b.Counts()["apiserver"][OK]
		b.Report("apiserver", Change{State: s, Priority: 101, Since: time.Now()})
		require.Eventually(t, func() bool { return b.Counts()["apiserver"][OK] == before+runs }, 15*time.Second, time.Millisecond, "%s: %v\n%s", s, b.Counts(), b.log)
		state, err := os.ReadFile("/var/run/keepalived.INSTANCE.VI_1.state")
		require.NoError(t, err)
		assert.Equal(t, "INSTANCE VI_1 is in "+string(s)+" state\n", string(state))
		return calls()
	}
	assert.ElementsMatch(t, []string{
		"systemctl <start> <haproxy>", "logger <-t> <keepalived-notify> <-p> <daemon.notice> <INSTANCE VI_1 (101): to master>",
		"mail <-s> <cp-1 to be master: vip floating> <root@localhost>", "  vrrp transition, cp-1 changed to be master",
		"ip <route> <replace> <192.0.2.0/24> <via> <10.77.0.1> <src> <10.77.0.100>", "ip <rule> <add> <from> <10.77.0.100> <lookup> <100>",
	}, tell(config.HookMaster, 5))
	assert.ElementsMatch(t, []string{
		"systemctl <stop> <haproxy>", "logger <-t> <keepalived-notify> <-p> <daemon.notice> <INSTANCE VI_1 (101): to backup>",
		"mail <-s> <cp-1 to be backup: vip floating> <root@localhost>", "  vrrp transition, cp-1 changed to be backup",
		"ip <route> <del> <192.0.2.0/24>", "ip <rule> <del> <from> <10.77.0.100> <lookup> <100>",
	}, tell(config.HookBackup, 5))
	assert.ElementsMatch(t, []string{
		"systemctl <stop> <haproxy>", "logger <-t> <keepalived-notify> <-p> <daemon.warning> <INSTANCE VI_1 (101): to fault>",
		"mail <-s> <cp-1 to be fault: vip floating> <root@localhost>", "  vrrp transition, cp-1 changed to be fault",
	}, tell(config.HookFault, 4))
	assert.ElementsMatch(t, []string{
		"systemctl <stop> <haproxy>", "logger <-t> <keepalived-notify> <-p> <daemon.err> <INSTANCE VI_1: unknown state STOP>",
		"ip <route> <del> <192.0.2.0/24>", "ip <rule> <del> <from> <10.77.0.100> <lookup> <100>",
	}, tell(config.HookStop, 4))
	b.Close()
	assert.Empty(t, b.log.String())
}
