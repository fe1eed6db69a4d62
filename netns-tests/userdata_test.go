//go:build netns

package netnstests

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// machine is a node that knows nothing but its user data: as much of cloud-init, systemd and the kubelet as that needs, with a
// root directory of its own.
type machine struct {
	t    *testing.T
	g    *trial.Group
	node *lab.Node
	root string

	binary string // on the same file system as root
}

type userData struct {
	WriteFiles []struct {
		Path        string `yaml:"path"`
		Owner       string `yaml:"owner"`
		Permissions string `yaml:"permissions"`
		Content     string `yaml:"content"`
	} `yaml:"write_files"`
	RunCmd []any `yaml:"runcmd"`
}

// boot makes a fresh root directory and does what the user data says.
func (m *machine) boot(text []byte) {
	var d userData
	require.NoError(m.t, yaml.Unmarshal(text, &d))
	require.NoError(m.t, os.RemoveAll(m.root))
	m.install()
	for _, f := range d.WriteFiles {
		mode := must(strconv.ParseUint(f.Permissions, 8, 32))(m.t)
		assert.Equal(m.t, "root:root", f.Owner)
		require.NoError(m.t, os.MkdirAll(filepath.Dir(m.root+f.Path), 0o755))
		require.NoError(m.t, os.WriteFile(m.root+f.Path, []byte(f.Content), os.FileMode(mode)))
		require.NoError(m.t, os.Chmod(m.root+f.Path, os.FileMode(mode)))
	}
	for _, c := range d.RunCmd {
		m.run(fmt.Sprint(c))
	}
	m.kubelet()
}

// install is the machine's image: the binary where package and container image have it. It is a link: to write so much again for each machine
// makes the whole computer stand still.
func (m *machine) install() {
	for _, dir := range []string{"proc", "usr/bin", "etc/kubernetes/manifests"} {
		require.NoError(m.t, os.MkdirAll(filepath.Join(m.root, dir), 0o755))
	}
	require.NoError(m.t, os.Link(m.binary, m.root+"/usr/bin/keepvip"))
}

// copied is a copy of the binary outside of /run, which may be mounted noexec.
func copied(t *testing.T) string {
	t.Helper()
	data := must(os.ReadFile(must(trial.Binary())(t)))(t)
	path := filepath.Join(t.TempDir(), "keepvip")
	require.NoError(t, os.WriteFile(path, data, 0o755))
	return path
}

// run does a command of the user data.
func (m *machine) run(command string) {
	switch command {
	case "[systemctl daemon-reload]", "echo booted":
	case "[systemctl enable --now keepvip]":
		m.unit()
	default:
		m.t.Fatalf("the user data has a command that this machine does not know: %s", command)
	}
}

// unit starts what the unit says, with the directories that it asks for.
func (m *machine) unit() {
	text := must(os.ReadFile(m.root + "/etc/systemd/system/keepvip.service"))(m.t)
	var argv []string
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch key {
		case "ExecStart":
			argv = strings.Fields(value)
		case "RuntimeDirectory":
			require.NoError(m.t, os.MkdirAll(filepath.Join(m.root, "run", value), 0o750))
		case "StateDirectory":
			require.NoError(m.t, os.MkdirAll(filepath.Join(m.root, "var/lib", value), 0o750))
		}
	}
	m.start(nil, argv)
}

// kubelet starts the static pods.
func (m *machine) kubelet() {
	for _, path := range must(filepath.Glob(m.root + "/etc/kubernetes/manifests/*.yaml"))(m.t) {
		text := must(os.ReadFile(path))(m.t)
		var pod struct {
			Spec struct {
				Containers []struct {
					Args []string                       `yaml:"args"`
					Env  []struct{ Name, Value string } `yaml:"env"`
				} `yaml:"containers"`
				Volumes []struct {
					HostPath struct{ Path, Type string } `yaml:"hostPath"`
				} `yaml:"volumes"`
			} `yaml:"spec"`
		}
		require.NoError(m.t, yaml.Unmarshal(text, &pod))
		for _, v := range pod.Spec.Volumes {
			if v.HostPath.Type == "DirectoryOrCreate" {
				require.NoError(m.t, os.MkdirAll(m.root+v.HostPath.Path, 0o755))
			}
			assert.DirExists(m.t, m.root+v.HostPath.Path)
		}
		c := pod.Spec.Containers[0]
		var env []string
		for _, e := range c.Env {
			env = append(env, e.Name+"="+strings.ReplaceAll(e.Value, "$$", "$"))
		}
		m.start(env, append([]string{"/usr/bin/keepvip"}, c.Args...))
	}
}

// start runs a program with the machine's root directory and nothing of this process's environment.
func (m *machine) start(env, argv []string) {
	require.NotEmpty(m.t, argv)
	line := []string{
		"unshare", "--mount", "--propagation", "private",
		"sh", "-c", `mount -t proc proc "$1/proc" && shift && exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"`, "sh", m.root,
	}
	line = append(line, env...)
	line = append(append(line, "chroot", m.root), argv...)
	m.g.Daemons[m.node.ID-1] = must(m.node.Start("keepvip", line...))(m.t)
}

// render is one run of `keepvip manifest cloud-init`.
func render(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), must(trial.Binary())(t), append([]string{"manifest", "cloud-init"}, args...)...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	require.NoError(t, err, errs.String())
	return out
}

// given writes a file of the person who runs the command.
func given(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// bootable is user data of both forms: a static pod from flags, and a unit with a file and a key that is merged.
func bootable(t *testing.T) map[string][]byte {
	t.Helper()
	key := given(t, "key", strings.Repeat("5a", 32)+"\n")
	config := given(t, "keepvip.yaml", startConfig+"key: {file: /etc/keepvip/key}\n")
	old := given(t, "user-data", "#cloud-config\n# mine\nruncmd:\n- echo booted\n")
	image := []string{"--image", "registry.example/keepvip:v1"}
	return map[string][]byte{
		"static pod from flags":      render(t, append(image, "--vip", "10.77.0.100", "--check", "none", "--metrics", "off")...),
		"static pod, file and key":   render(t, append(image, "--config", config, "--key-from", key)...),
		"unit, file and key, merged": render(t, "--systemd", "--config", config, "--key-from", key, "--merge", old),
	}
}

// Three machines come to a working address from their user data alone, whatever the order.
func TestUserDataBootsToAWorkingAddress(t *testing.T) {
	t.Parallel()
	orders := [][][]int{{{1, 2, 3}, {3, 2, 1}}, {{1, 3, 2}, {2, 3, 1}}, {{2, 1, 3}, {3, 1, 2}}}
	forms := bootable(t)
	require.Len(t, forms, len(orders))
	binary := copied(t)
	for i, name := range slices.Sorted(maps.Keys(forms)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := prepare(t, trial.Config{})
			for _, order := range orders[i] {
				roots := t.TempDir()
				for _, id := range order {
					n := g.Lab.Nodes[id-1]
					(&machine{t: t, g: g, node: n, root: filepath.Join(roots, n.Label), binary: binary}).boot(forms[name])
				}
				settled(t, g)
				require.True(t, g.Lab.Reaches(g.Lab.Client.Namespace, lab.VIP4, 2*time.Second), "%v: a client reaches the address", order)
				for _, n := range g.Lab.Nodes {
					must(g.Daemon(n).Terminate(5 * time.Second))(t)
				}
			}
		})
	}
}
