package kubeadm

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func unit() UnitConfig {
	return UnitConfig{
		Node:   Node{ConfigFile: "/etc/keepvip/keepvip.yaml", Socket: "/run/keepvip/keepvip.sock", StateDir: "/var/lib/keepvip"},
		Binary: "/usr/bin/keepvip",
	}
}

func TestSystemdGolden(t *testing.T) {
	got, err := Systemd(unit())
	require.NoError(t, err)
	golden(t, "keepvip.service", got)
}

func TestSystemdQuotes(t *testing.T) {
	tests := []struct{ give, want string }{
		{"--vip=10.77.0.100", "--vip=10.77.0.100"},
		{"--check=https://h/%7e?a=$B", "--check=https://h/%%7e?a=$$B"},
		{"--socket=/a b/c", `"--socket=/a b/c"`},
		{`--name="x\y"`, `"--name=\"x\\y\""`},
		{"a;b", `"a;b"`},
		{"", `""`},
	}
	for _, tt := range tests {
		t.Run(tt.give, func(t *testing.T) {
			got, err := unitWord(tt.give)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestSystemdDirectoriesElsewhere(t *testing.T) {
	cfg := unit()
	cfg.Socket, cfg.StateDir = "/opt/keepvip/run/s", "/var/lib/infra/keepvip"
	got, err := Systemd(cfg)
	require.NoError(t, err)
	assert.Contains(t, string(got), "ReadWritePaths=-/opt/keepvip/run\nStateDirectory=infra/keepvip\n")
	assert.NotContains(t, string(got), "RuntimeDirectory")
}

// A directory that is missing would keep the unit from starting (226/NAMESPACE), so each is made: by systemd, or by a command, which the missing one
// would stop, too, without the "-". What has to outlive the unit is in no RuntimeDirectory.
func TestSystemdMakesTheDirectoriesThatItWrites(t *testing.T) {
	const made = "ExecStartPre=+/bin/mkdir -p -m 0750 "
	for _, tt := range []struct {
		name, socket, state string
		writable            []string
		want                []string // lines
	}{
		{"the default", "/run/keepvip/s", "/var/lib/keepvip", nil, []string{"RuntimeDirectory=keepvip", "StateDirectory=keepvip"}},
		{"the old name of /run", "/var/run/keepvip/s", "/var/lib/keepvip", nil, []string{"RuntimeDirectory=keepvip", "StateDirectory=keepvip"}},
		{"not below /var/run", "/var/runs/k/s", "/var/lib/keepvip", nil, []string{"RequiresMountsFor=/var/runs/k", made + "/var/runs/k", "ReadWritePaths=-/var/runs/k", "StateDirectory=keepvip"}},
		{"a state elsewhere", "/run/keepvip/s", "/srv/keepvip", nil, []string{"RequiresMountsFor=/srv/keepvip", "RuntimeDirectory=keepvip", made + "/srv/keepvip", "ReadWritePaths=-/srv/keepvip"}},
		{"a directory for logs", "/run/keepvip/s", "/var/lib/keepvip", []string{"/var/log/keepvip"}, []string{
			"RequiresMountsFor=/var/log/keepvip", "RuntimeDirectory=keepvip", "StateDirectory=keepvip", made + "/var/log/keepvip", "ReadWritePaths=-/var/log/keepvip",
		}},
		{"two of them", "/opt/k/s", "/srv/k", nil, []string{
			"RequiresMountsFor=/opt/k /srv/k", made + "/opt/k", "ReadWritePaths=-/opt/k", made + "/srv/k", "ReadWritePaths=-/srv/k",
		}},
		{"one for all", "/var/lib/keepvip/s", "/var/lib/keepvip", []string{"/var/lib/keepvip"}, []string{"StateDirectory=keepvip"}},
		{"a state beside the socket", "/run/keepvip/s", "/var/run/keepvip", nil, []string{made + "/run/keepvip", "ReadWritePaths=-/run/keepvip"}},
		{"a state below the socket", "/run/keepvip/s", "/run/keepvip/state", nil, []string{
			made + "/run/keepvip", "ReadWritePaths=-/run/keepvip", made + "/run/keepvip/state", "ReadWritePaths=-/run/keepvip/state",
		}},
		{"what is everybody's", "/run/keepvip/s", "/var/lib/keepvip", []string{"/tmp", "/tmp", "/var/tmp"}, []string{
			"RuntimeDirectory=keepvip", "StateDirectory=keepvip", "ReadWritePaths=/tmp", "ReadWritePaths=/var/tmp",
		}},
	} {
		cfg := unit()
		cfg.Socket, cfg.StateDir, cfg.Writable = tt.socket, tt.state, tt.writable
		got, err := Systemd(cfg)
		require.NoError(t, err, tt.name)
		var lines []string
		for line := range strings.Lines(string(got)) {
			key, _, _ := strings.Cut(line, "=")
			if key == "RequiresMountsFor" || key == "ExecStartPre" || key == "ReadWritePaths" || key == "RuntimeDirectory" || key == "StateDirectory" {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
		assert.Equal(t, tt.want, lines, tt.name)
		for _, hardened := range []string{"NoNewPrivileges=yes", "ProtectSystem=strict", "ProtectHome=yes"} {
			assert.Contains(t, string(got), hardened+"\n", tt.name)
		}
	}
}

// The unit has no /tmp of its own where keepvip reads or writes something there: a check of a file would go by one that nobody can make.
func TestSystemdSeesWhatOthersHaveBelowTmp(t *testing.T) {
	for p, private := range map[string]string{
		"/tmp/maintenance": "no", "/var/tmp/a/b": "no", "tmp/a": "no", "/tmp": "no", "/etc/../tmp/a": "no", "/tmpfs/a": "yes", "/run/keepvip/maintenance": "yes", "/etc/tmp/a": "yes",
	} {
		cfg := unit()
		cfg.Files = []string{"/etc/keepvip/key", p}
		got, err := Systemd(cfg)
		require.NoError(t, err)
		assert.Contains(t, string(got), "PrivateTmp="+private+"\n", p)
		assert.NotContains(t, string(got), "ReadWritePaths", p)
	}
	for _, edit := range []func(*UnitConfig){
		func(c *UnitConfig) { c.ConfigFile = "/tmp/k.yaml" }, func(c *UnitConfig) { c.Binary = "/tmp/keepvip" },
		func(c *UnitConfig) { c.Socket = "/tmp/k/s" }, func(c *UnitConfig) { c.StateDir = "/var/tmp/k" },
	} {
		cfg := unit()
		edit(&cfg)
		got, err := Systemd(cfg)
		require.NoError(t, err)
		assert.Contains(t, string(got), "PrivateTmp=no\n")
	}
}

func TestUnitHides(t *testing.T) {
	for p, want := range map[string]string{
		"/home/ann/k": "ProtectHome", "/root": "ProtectHome", "/run/user/0/k": "ProtectHome", "/var/run/user/0/k": "ProtectHome", "home/k": "ProtectHome",
		"/tmp/k": "PrivateTmp", "/var/tmp/k": "PrivateTmp", "/homes/k": "", "/roots": "", "/run/users": "", "/etc/keepvip/k": "", "/var/runner/user": "",
	} {
		assert.Equal(t, want, unit().Hides(p), p)
	}
	cfg := unit()
	cfg.Files = []string{"/tmp/k"}
	assert.Empty(t, cfg.Hides("/var/tmp/other"))
	assert.Equal(t, "ProtectHome", cfg.Hides("/root/k"))
}

func TestSystemdLetsAFurtherDirectoryBeWritten(t *testing.T) {
	for dir, want := range map[string]struct{ paths, private string }{
		"/tmp": {"/tmp", "no"}, "/var/tmp/k": {"-/var/tmp/k", "no"}, "/tmpfs": {"-/tmpfs", "yes"}, "/srv/keepalived": {"-/srv/keepalived", "yes"},
	} {
		cfg := unit()
		cfg.Writable = []string{dir}
		got, err := Systemd(cfg)
		require.NoError(t, err)
		assert.Contains(t, string(got), "ReadWritePaths="+want.paths+"\n")
		assert.Contains(t, string(got), "PrivateTmp="+want.private+"\n")
	}
	cfg := unit()
	cfg.Writable = []string{"tmp"}
	_, err := Systemd(cfg)
	assert.EqualError(t, err, `kubeadm: directory "tmp", want an absolute, clean path on the node`)
}

func TestSystemdRefuses(t *testing.T) {
	tests := []struct {
		name string
		edit func(*UnitConfig)
		want string
	}{
		{"no arguments", func(c *UnitConfig) { c.ConfigFile = "" }, "kubeadm: no arguments, want those of keepvip run"},
		{"two lines", func(c *UnitConfig) { c.Args = []string{"--name=a\nExecStart=/bin/sh"} }, `kubeadm: argument "--name=a\nExecStart=/bin/sh", want one line`},
		{"relative config", func(c *UnitConfig) { c.ConfigFile = "keepvip.yaml" }, `kubeadm: config file "keepvip.yaml", want an absolute, clean path on the node`},
		{"relative binary", func(c *UnitConfig) { c.Binary = "keepvip" }, `kubeadm: binary "keepvip", want an absolute, clean path on the node`},
		{"directory with a blank", func(c *UnitConfig) { c.StateDir = "/var/lib/keep vip" }, `kubeadm: state directory "/var/lib/keep vip", want a path without blanks, quotes, % and $ in a unit`},
		{"config that ProtectHome hides", func(c *UnitConfig) { c.ConfigFile = "/root/k.yaml" }, "kubeadm: /root/k.yaml, want a path outside of /home, /root and /run/user: the unit sees nothing of what is there (ProtectHome)"},
		{"file that ProtectHome hides", func(c *UnitConfig) { c.Files = []string{"/etc/a", "/home/ann/key"} }, "kubeadm: /home/ann/key, want a path outside of /home, /root and /run/user: the unit sees nothing of what is there (ProtectHome)"},
		{"binary that ProtectHome hides", func(c *UnitConfig) { c.Binary = "/root/keepvip" }, "kubeadm: /root/keepvip, want a path outside of /home, /root and /run/user: the unit sees nothing of what is there (ProtectHome)"},
		{"state that ProtectHome hides", func(c *UnitConfig) { c.StateDir = "/home/keepvip" }, "kubeadm: /home/keepvip, want a path outside of /home, /root and /run/user: the unit sees nothing of what is there (ProtectHome)"},
		{"relative socket", func(c *UnitConfig) { c.Socket = "s" }, `kubeadm: socket "s", want an absolute, clean path on the node`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := unit()
			tt.edit(&cfg)
			out, err := Systemd(cfg)
			assert.EqualError(t, err, tt.want)
			assert.Nil(t, out)
		})
	}
}

// A line of a unit is a key and a value; nothing else may slip in.
func TestSystemdHasOnlyAssignments(t *testing.T) {
	got, err := Systemd(unit())
	require.NoError(t, err)
	for _, line := range strings.Split(strings.TrimSpace(string(got)), "\n") {
		if line != "" && line[0] != '#' && line[0] != '[' {
			assert.Regexp(t, `^[A-Z][A-Za-z]+=.+$`, line)
		}
	}
}

func TestSystemdLetsChecksRunAsOtherUsers(t *testing.T) {
	cfg := unit()
	cfg.SwitchUser = true
	got, err := Systemd(cfg)
	require.NoError(t, err)
	assert.Contains(t, string(got), "CapabilityBoundingSet=CAP_NET_ADMIN CAP_NET_RAW CAP_SETUID CAP_SETGID CAP_KILL\n")
}

func TestSystemdKeepsRootFromTheKernelsTunables(t *testing.T) {
	got, err := Systemd(unit())
	require.NoError(t, err)
	for _, line := range []string{"ProtectKernelTunables=yes", "ProtectKernelModules=yes", "ProtectKernelLogs=yes", "ProtectControlGroups=yes", "ProtectHostname=yes", "NoNewPrivileges=yes"} {
		assert.Contains(t, string(got), line+"\n")
	}
}
