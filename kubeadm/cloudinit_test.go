package kubeadm

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

func TestCloudInitGolden(t *testing.T) {
	manifest, err := Pod(inline())
	require.NoError(t, err)
	got, err := CloudInit(CloudInitConfig{Files: []File{
		{Path: ManifestPath, Content: manifest, Mode: 0o600},
		{Path: "/etc/keepvip/key", Content: []byte(strings.Repeat("0f", 32) + "\n"), Mode: 0o600},
	}})
	require.NoError(t, err)
	golden(t, "cloud-init-pod.yaml", got)

	var back cloudConfig
	require.NoError(t, yaml.UnmarshalStrict(got, &back))
	assert.Equal(t, string(manifest), back.WriteFiles[0].Content, "the manifest arrives as it is")
}

func TestCloudInitSystemdGolden(t *testing.T) {
	service, err := Systemd(unit())
	require.NoError(t, err)
	got, err := CloudInit(CloudInitConfig{
		Files:    []File{{Path: UnitPath, Content: service, Mode: 0o644}},
		Commands: [][]string{{"systemctl", "enable", "--now", "keepvip"}},
	})
	require.NoError(t, err)
	golden(t, "cloud-init-systemd.yaml", got)
}

func TestCloudInitBinaryContent(t *testing.T) {
	got, err := CloudInit(CloudInitConfig{Files: []File{{Path: "/a", Content: []byte{0xff, 0x00}, Mode: 0o400}}})
	require.NoError(t, err)
	assert.Equal(t, "#cloud-config\nwrite_files:\n- content: /wA=\n  encoding: b64\n  owner: root:root\n  path: /a\n  permissions: \"0400\"\n", string(got))
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
			out, err := CloudInit(CloudInitConfig{Files: tt.give})
			assert.EqualError(t, err, tt.want)
			assert.Nil(t, out)
		})
	}
}
