package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hooking is a configuration of one VIP with these hooks, each in a line of its own from the sixth on.
func hooking(hooks ...string) Input {
	in := inFile("vips:\n- addresses: [10.77.0.100]\n  hooks:\n  - " + strings.Join(hooks, "\n  - ") + "\n")
	in.Elsewhere = true
	return in
}

func TestHooks(t *testing.T) {
	c, err := Load(hooking(
		"{command: [/bin/notify, -a, x, -a], user: 'nobody:adm'}",
		"{command: [/bin/master], user: root, states: [MASTER, STOP], type: INSTANCE, arguments: false, timeout: 1m}",
	))
	require.NoError(t, err)
	assert.Equal(t, []Hook{
		{Command: []string{"/bin/notify", "-a", "x", "-a"}, User: "nobody:adm", Type: HookInstance, Arguments: true, Timeout: 10 * time.Second},
		{Command: []string{"/bin/master"}, User: "root", States: []HookState{HookMaster, HookStop}, Type: HookInstance, Timeout: time.Minute},
	}, c.VIPs[0].Hooks)
	shown := texts(c)
	assert.Equal(t, "/bin/notify, -a, x, -a", shown["vips[0].hooks[0].command"])
	assert.Equal(t, "MASTER, STOP", shown["vips[0].hooks[1].states"])
	assert.Equal(t, EnvInline+":7", c.Origin("vips[0].hooks[1].timeout").String())
	assert.Equal(t, []string{"vips[0].hooks[0]: a hook as user nobody:adm false", "vips[0].hooks[1]: a hook as user root true"}, programsOf(c))
}

func programsOf(c *Config) (out []string) {
	for _, p := range c.Programs() {
		out = append(out, p.String()+map[bool]string{true: " true", false: " false"}[p.AsRoot()])
	}
	return out
}

func TestHooksRefused(t *testing.T) {
	const at = "FILE:6: vips[0].hooks[0]"
	tests := []struct {
		name string
		give Input
		want string // lines without "config: "
	}{
		{"no list", inFile("vips:\n- addresses: [10.77.0.100]\n  hooks: /bin/a\n"), `FILE:5: vips[0].hooks: "/bin/a", want a list: one entry with command for each hook`},
		{"no mapping", hooking("/bin/a"), at + `: "/bin/a", want a mapping with ` + keysOf("vips", "hooks")},
		{"no command", hooking("{user: root}"), at + ".command: missing, want a list that begins with an absolute path"},
		{"a program by name", hooking("{command: [ip, route], user: root}"), at + ".command: ip, want a list that begins with an absolute path"},
		{"an empty command", hooking("{command: [], user: root}"), at + ".command: an empty list, want a list that begins with an absolute path"},
		{"a shell line", hooking("{command: /bin/a b, user: root}"), at + `.command: "/bin/a b", want a list such as [/bin/a b]`},
		{"no user", hooking("{command: [/bin/a]}"), at + ".user: missing, want who the program runs as, such as nobody, or root where it has to be"},
		{"a strange user", hooking("{command: [/bin/a], user: 'a b'}"), at + `.user: "a b", want a user's name or id, and a group behind a colon if need be, as nobody or 65534:65534`},
		{"another state", hooking("{command: [/bin/a], user: root, states: [ACTIVE]}"), at + ".states: ACTIVE, want MASTER or BACKUP or FAULT or STOP or DELETED"},
		{"no state", hooking("{command: [/bin/a], user: root, states: []}"), at + ".states: an empty list, want at least one state, or the key removed for all of them"},
		{"a state twice", hooking("{command: [/bin/a], user: root, states: [STOP, STOP]}"), at + ".states: STOP is given twice, want it once"},
		{"a group without one", hooking("{command: [/bin/a], user: root, type: GROUP}"), at + ".type: GROUP, but the entry is in no group, want INSTANCE"},
		{"no time", hooking("{command: [/bin/a], user: root, timeout: 1ms}"), at + ".timeout: 1ms, want a duration from 100ms to 10m0s"},
		{"too many", hooking(strings.Split(strings.Repeat("{command: [/bin/a], user: root}|", 20)+"{command: [/bin/a], user: root}", "|")...), "FILE:4: vips[0].hooks: 21 hooks, want at most 20"},
		{"a name of no group", inFile("vips:\n- addresses: [10.77.0.100]\n  keepalivedGroupName: a\n"), "FILE:5: vips[0].keepalivedGroupName: a, but the entry is in no group, want group, too, or no keepalivedGroupName"},
		{
			"two names of one group", inFile("vips:\n- {name: a, addresses: [10.77.0.1], group: g, keepalivedGroupName: A}\n- {name: b, addresses: [10.77.0.2], group: g, keepalivedGroupName: B}\n"),
			"FILE:5: vips[1].keepalivedGroupName: B, but vips[0] calls the group A, want one name",
		},
		{"a FIFO by name", inFile("vips: [{addresses: [10.77.0.1]}]\nnotifyFIFO: {path: notify}\n"), "FILE:4: notifyFIFO.path: notify, want an absolute path such as /run/keepvip/notify"},
		{"a user without a FIFO", inFile("vips: [{addresses: [10.77.0.1]}]\nnotifyFIFO: {user: nobody}\n"), "FILE:4: notifyFIFO.user: set without notifyFIFO.path, want both"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Load(tt.give)
			assert.EqualError(t, err, "config: "+strings.ReplaceAll(tt.want, "FILE", EnvInline))
		})
	}
}

func TestHooksAreLookedFor(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "keepvip-config-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	program := filepath.Join(dir, "program")
	require.NoError(t, os.WriteFile(program, nil, 0o755))
	load := func(command, user string) (*Config, error) {
		in := hooking("{command: [" + command + "], user: '" + user + "'}")
		in.Elsewhere = false
		return Load(in)
	}
	const at = "config: KEEPVIP_CONFIG_YAML:6: vips[0].hooks[0]"
	for _, tt := range []struct{ command, user, want string }{
		{dir + "/none", "65534", at + ".command: " + dir + "/none: no such program here, want one that exists"},
		{dir, "root", at + ".command: " + dir + ": not a regular file, want a program"},
		{program, "no-such-user-here", at + ".user: no-such-user-here: no such user here, want one that exists, or ids such as 65534:65534"},
		{program, "0:no-such-group-here", at + ".user: no-such-group-here: no such group here, want one that exists, or ids such as 65534:65534"},
	} {
		_, err := load(tt.command, tt.user)
		assert.EqualError(t, err, tt.want)
	}
	c, err := load(program, "1000:1001")
	require.NoError(t, err)
	assert.Equal(t, []uint32{1000, 1001}, []uint32{c.VIPs[0].Hooks[0].UID, c.VIPs[0].Hooks[0].GID})
	c, err = load("/bin/true", "root")
	require.NoError(t, err)
	assert.Equal(t, []uint32{0, 0}, []uint32{c.VIPs[0].Hooks[0].UID, c.VIPs[0].Hooks[0].GID})

	in := inFile("vips: [{addresses: [10.77.0.1]}]\nnotifyFIFO: {path: /f, user: no-such-user-here}\n")
	_, err = Load(in)
	assert.EqualError(t, err, "config: KEEPVIP_CONFIG_YAML:4: notifyFIFO.user: no-such-user-here: no such user here, want one that exists, or ids such as 65534:65534")
}

// What root runs must be root's: whoever can write it is root otherwise.
func TestHooksOfRootAreRoots(t *testing.T) {
	if os.Getuid() != 0 {
		t.Log("not root: no file can be made root's")
		return
	}
	dir, err := os.MkdirTemp("/tmp", "keepvip-config-") // below a sticky directory
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	program, link := filepath.Join(dir, "program"), filepath.Join(dir, "link")
	require.NoError(t, os.WriteFile(program, nil, 0o755))
	require.NoError(t, os.Symlink(program, link))
	const remedy = ", want root as its owner and 0755, or another user"
	tests := []struct {
		name   string
		change func() error
		want   string
	}{
		{"root's alone", func() error { return os.Chmod(dir, 0o755) }, ""},
		{"the group may write the file", func() error { return os.Chmod(program, 0o775) }, program + " can be changed by others than root (owner 0, mode 0775)" + remedy},
		{"the file is another user's", func() error { return os.Chown(program, 1000, 0) }, program + " can be changed by others than root (owner 1000, mode 0755)" + remedy},
		{"all may write the directory", func() error { return os.Chmod(dir, 0o777) }, dir + " can be changed by others than root (owner 0, mode 0777)" + remedy},
		{"all may make files in it", func() error { return os.Chmod(dir, 0o777|os.ModeSticky) }, ""},
		{"the directory is another user's", func() error { return os.Chown(dir, 1000, 0) }, dir + " can be changed by others than root (owner 1000, mode 0755)" + remedy},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, path := range []string{dir, program} {
				require.NoError(t, os.Chown(path, 0, 0))
				require.NoError(t, os.Chmod(path, 0o755))
			}
			require.NoError(t, tt.change())
			for _, path := range []string{program, link} {
				err := safeForRoot(path)
				if tt.want == "" {
					assert.NoError(t, err)
				} else {
					assert.EqualError(t, err, tt.want)
				}
			}
		})
	}
}

func TestHooksAreTakenOverLive(t *testing.T) {
	load := func(timeout string) *Config {
		c, err := Load(hooking("{command: [/bin/a], user: root, timeout: " + timeout + "}"))
		require.NoError(t, err)
		return c
	}
	assert.Empty(t, Diff(load("1s"), load("1s")))
	d := Diff(load("1s"), load("2s"))
	require.Len(t, d.Changed, 1)
	assert.Equal(t, []string{"vips[].hooks"}, d.Changed[0].Keys)
	assert.False(t, d.Changed[0].Recreate)
}
