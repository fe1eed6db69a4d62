package kubeadm

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// given is what user data is made of.
type given struct {
	files    []File
	commands [][]string
}

// withPod is user data with a manifest and a key.
func withPod(t *testing.T) given {
	t.Helper()
	manifest, err := Pod(inline())
	require.NoError(t, err)
	return given{files: []File{
		{Path: ManifestPath, Content: manifest, Mode: 0o600},
		{Path: "/etc/keepvip/key", Content: []byte(strings.Repeat("0f", 32) + "\n"), Mode: 0o600},
	}}
}

func withUnit(t *testing.T) given {
	t.Helper()
	service, err := Systemd(unit())
	require.NoError(t, err)
	return given{
		files:    []File{{Path: UnitPath, Content: service, Mode: 0o644}},
		commands: [][]string{{"systemctl", "daemon-reload"}, {"systemctl", "enable", "--now", "keepvip"}},
	}
}

func TestCloudInitGolden(t *testing.T) {
	cfg := withPod(t)
	got, err := CloudInit(cfg.files, cfg.commands)
	require.NoError(t, err)
	golden(t, "cloud-init-pod.yaml", got)

	var back cloudConfig
	require.NoError(t, yaml.Unmarshal(got, &back))
	assert.Equal(t, string(cfg.files[0].Content), back.WriteFiles[0].Content, "the manifest arrives as it is")
	assert.Equal(t, "0600", back.WriteFiles[1].Permissions)
}

func TestCloudInitSystemdGolden(t *testing.T) {
	cfg := withUnit(t)
	got, err := CloudInit(cfg.files, cfg.commands)
	require.NoError(t, err)
	golden(t, "cloud-init-systemd.yaml", got)
}

func TestCloudInitBinaryContent(t *testing.T) {
	got, err := CloudInit([]File{{Path: "/a", Content: []byte{0xff, 0x00}, Mode: 0o400}}, nil)
	require.NoError(t, err)
	assert.Equal(t, "#cloud-config\nwrite_files:\n  - path: /a\n    owner: root:root\n    permissions: \"0400\"\n    encoding: b64\n    content: /wA=\n", string(got))
}

func TestCloudInitRefuses(t *testing.T) {
	tests := []struct {
		name string
		give []File
		want string
	}{
		{"nothing", nil, "kubeadm: no files, want at least a manifest"},
		{"relative", []File{{Path: "a", Mode: 0o600}}, `kubeadm: file "a", want an absolute, clean path on the node`},
		{"twice", []File{{Path: "/a", Mode: 0o600}, {Path: "/a", Mode: 0o600}}, "kubeadm: file /a twice, want it once"},
		{"no mode", []File{{Path: "/a"}}, "kubeadm: file /a with mode ----------, want permission bits such as 0600"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, render := range []func() ([]byte, error){
				func() ([]byte, error) { return CloudInit(tt.give, nil) },
				func() ([]byte, error) {
					return MergeCloudInit("u", []byte("#cloud-config\n"), tt.give, nil)
				},
			} {
				out, err := render()
				assert.EqualError(t, err, tt.want)
				assert.Nil(t, out)
			}
		})
	}
}

func TestMergeCloudInitGolden(t *testing.T) {
	old, err := os.ReadFile(filepath.Join("testdata", "user-data.yaml"))
	require.NoError(t, err)
	for name, cfg := range map[string]given{"user-data-pod.yaml": withPod(t), "user-data-systemd.yaml": withUnit(t)} {
		t.Run(name, func(t *testing.T) {
			got, err := MergeCloudInit("user-data.yaml", old, cfg.files, cfg.commands)
			require.NoError(t, err)
			golden(t, name, got)

			again, err := MergeCloudInit("user-data.yaml", got, cfg.files, cfg.commands)
			require.NoError(t, err)
			assert.Equal(t, string(got), string(again), "merging twice changes nothing more")

			// Every line of the old one is in the new one, in the same order, but for those of the file that is replaced.
			rest := strings.Split(string(got), "\n")
			for line := range strings.Lines(string(old)) {
				line = strings.TrimSuffix(line, "\n")
				if strings.Contains(line, ManifestPath) || strings.Contains(line, "an older one") {
					continue
				}
				i := slices.Index(rest, line)
				require.GreaterOrEqual(t, i, 0, "line lost: %q", line)
				rest = rest[i+1:]
			}
		})
	}
}

func TestMergeCloudInit(t *testing.T) {
	cfg := given{files: []File{{Path: "/a", Content: []byte("x\n"), Mode: 0o600}}, commands: [][]string{{"one"}, {"two", "2"}}}
	const file = "  - path: /a\n    owner: root:root\n    permissions: \"0600\"\n    content: |\n      x\n"
	tests := []struct{ name, give, want string }{
		{"only the header", "#cloud-config\n", "#cloud-config\nwrite_files:\n" + file + "runcmd:\n  - [one]\n  - [two, \"2\"]\n"},
		{"a template", "## template: jinja\n#cloud-config\nhostname: '{{ v1.region }}'\n", "## template: jinja\n#cloud-config\nhostname: '{{ v1.region }}'\nwrite_files:\n" + file + "runcmd:\n  - [one]\n  - [two, \"2\"]\n"},
		{"one command is there", "#cloud-config\nruncmd:\n- [two, '2']\n- x\n", "#cloud-config\nruncmd:\n- [one]\n- [two, '2']\n- x\nwrite_files:\n" + file},
		{"commands in the wrong order", "#cloud-config\nruncmd:\n- x\n- [two, '2']\n- [one]\n", "#cloud-config\nruncmd:\n- [one]\n- [two, \"2\"]\n- x\nwrite_files:\n" + file},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := MergeCloudInit("u", []byte(tt.give), cfg.files, cfg.commands)
			require.NoError(t, err)
			assert.Equal(t, tt.want, string(got))
		})
	}
}

// One form takes the place of the other: two keepvips on a node would be each other's rivals.
func TestMergeCloudInitChangesTheForm(t *testing.T) {
	const old = "#cloud-config\nruncmd:\n- kubeadm init\n"
	asPod, asUnit := withPod(t), withUnit(t)
	pod, err := MergeCloudInit("u", []byte(old), asPod.files, asPod.commands)
	require.NoError(t, err)
	unit, err := MergeCloudInit("u", pod, asUnit.files, asUnit.commands)
	require.NoError(t, err)
	assert.NotContains(t, string(unit), ManifestPath)
	assert.Contains(t, string(unit), "[systemctl, enable, --now, keepvip]")
	back, err := MergeCloudInit("u", unit, asPod.files, asPod.commands)
	require.NoError(t, err)
	assert.NotContains(t, string(back), UnitPath)
	assert.NotContains(t, string(back), "[systemctl, enable")
	assert.Contains(t, string(back), ManifestPath)
}

func TestMergeCloudInitRefuses(t *testing.T) {
	files := []File{{Path: "/a", Content: []byte("x\n"), Mode: 0o600}}
	tests := []struct{ name, give, want string }{
		{"empty", "", "kubeadm: u:1: no #cloud-config user data, want that line first (a script or MIME parts cannot be merged into)"},
		{"script", "#!/bin/sh\n", "kubeadm: u:1: no #cloud-config user data, want that line first (a script or MIME parts cannot be merged into)"},
		{"no mapping", "#cloud-config\n- a\n", "kubeadm: u:2: the document is a list, want a mapping with one line for each key"},
		{"two documents", "#cloud-config\na: 1\n---\nb: 1\n", "kubeadm: u: 2 YAML documents, want one"},
		{"no list", "#cloud-config\nwrite_files: {}\n", "kubeadm: u:2: write_files is a mapping in braces, want a list"},
		{"not YAML", "#cloud-config\na: [\n", "kubeadm: u:2: not valid YAML: did not find expected node content"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, err := MergeCloudInit("u", []byte(tt.give), files, nil)
			assert.EqualError(t, err, tt.want)
			assert.Nil(t, out)
		})
	}
}

func TestReplaceKubeVIP(t *testing.T) {
	const before = "#cloud-config\n# mine\nwrite_files:\n- path: /etc/motd\n  content: hello\n# the address\n- path: /pods/a.yaml\n  content: |\n" +
		"    kind: Pod\n    spec:\n      containers:\n      - image: ghcr.io/kube-vip/kube-vip:v1.0.4\n" +
		"bootcmd:\n- mkdir /run/kube-vip\nruncmd:\n- [ctr, image, pull, 'ghcr.io/kube-vip/kube-vip:v1.0.4']\n- kubeadm init\nfinal_message: no kube-vip\n"
	got, notes, err := ReplaceKubeVIP("u", []byte(before), []File{{Path: ManifestPath, Content: []byte("a\n"), Mode: 0o600}})
	require.NoError(t, err)
	assert.Equal(t, "#cloud-config\n# mine\nwrite_files:\n- path: /etc/motd\n  content: hello\n- path: "+ManifestPath+"\n  owner: root:root\n  permissions: \"0600\"\n  content: |\n    a\n"+
		"bootcmd: []\nruncmd:\n- kubeadm init\nfinal_message: no kube-vip\n", string(got))
	assert.Equal(t, []string{
		"took out the file /pods/a.yaml",
		"took out of bootcmd: mkdir /run/kube-vip",
		"took out of runcmd: ctr image pull ghcr.io/kube-vip/kube-vip:v1.0.4",
		"kube-vip is still named in line 14 of the result: final_message: no kube-vip",
	}, notes)

	encoded := strings.Replace("#cloud-config\nwrite_files:\n- path: /pods/a.yaml\n  encoding: b64\n  content: B64\n", "B64",
		base64.StdEncoding.EncodeToString([]byte("kind: Pod\nspec:\n  containers:\n  - image: kube-vip\n")), 1)
	_, notes, err = ReplaceKubeVIP("u", []byte(encoded), []File{{Path: ManifestPath, Content: []byte("a\n"), Mode: 0o600}})
	require.NoError(t, err)
	assert.Equal(t, []string{"took out the file /pods/a.yaml"}, notes)

	_, _, err = ReplaceKubeVIP("u", []byte("#!/bin/sh\n"), nil)
	require.Error(t, err)
	assert.True(t, IsCloudInit([]byte(before)))
	assert.False(t, IsCloudInit([]byte("kind: Cluster\n")))
}
