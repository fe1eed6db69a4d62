package kubeadm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/keepvip/keepvip/kubeadm/yamledit"
)

func part(t *testing.T) ControlPlaneConfig {
	t.Helper()
	cfg := flags()
	cfg.KeyFile = "/etc/keepvip/key"
	cfg.Args = []string{"--vip=10.77.0.100", "--key-file=/etc/keepvip/key"}
	manifest, err := Pod(cfg)
	require.NoError(t, err)
	return ControlPlaneConfig{
		Name:     "blue-control-plane",
		Files:    []File{{Path: ManifestPath, Content: manifest, Mode: 0o600}},
		Secrets:  []Secret{{Path: "/etc/keepvip/key", Name: "blue-keepvip", Key: "key"}},
		Endpoint: Endpoint{Host: "10.77.0.100", Port: 6443},
		CertSANs: []string{"fd77::100"},
	}
}

func TestControlPlaneGolden(t *testing.T) {
	got, err := ControlPlane(part(t))
	require.NoError(t, err)
	golden(t, "controlplane.yaml", got)
	assert.NotContains(t, string(got), "preKubeadmCommands", "a static pod needs none")
}

func template0(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "capv-template.yaml"))
	require.NoError(t, err)
	return text
}

func TestMergeControlPlaneGolden(t *testing.T) {
	cfg := part(t)
	cfg.Endpoint.Host = "${CONTROL_PLANE_ENDPOINT_IP}"
	cfg.CertSANs = nil
	cfg.Commands = [][]string{{"systemctl", "daemon-reload"}, {"systemctl", "enable", "--now", "keepvip"}}
	found, err := TemplateEndpoint("t", template0(t))
	require.NoError(t, err)
	assert.Equal(t, Endpoint{Host: "${CONTROL_PLANE_ENDPOINT_IP}"}, found)

	got, notes, err := MergeControlPlane("t", template0(t), cfg)
	require.NoError(t, err)
	golden(t, "capv-merged.yaml", got)
	assert.Equal(t, []string{
		"took out the file /etc/kubernetes/manifests/kube-vip.yaml",
		"took out the file /etc/kube-vip.hosts",
		"took out the file /etc/pre-kubeadm-commands/50-kube-vip-prepare.sh",
		"kube-vip is still named in line 1 of the result: # A cluster on vSphere with kube-vip, for clusterctl generate cluster.",
	}, notes)

	again, _, err := MergeControlPlane("t", got, cfg)
	require.NoError(t, err)
	assert.Equal(t, string(got), string(again), "merging twice changes nothing more")
	assert.Equal(t, []string{
		ManifestPath, "/etc/keepvip/key", "/etc/vsphere/user.yaml",
	}, sortedPaths(t, got))
	assert.Contains(t, string(got), "    # who may talk to vCenter\n    - content: |\n        user: ${VSPHERE_USERNAME}\n")
	assert.NotContains(t, string(got), "# the address of the control plane")
}

// sortedPaths are the files of the one KubeadmControlPlane.
func sortedPaths(t *testing.T, text []byte) []string {
	t.Helper()
	docs, err := yamledit.New("t", text).Documents()
	require.NoError(t, err)
	seen := map[string]bool{}
	var ours, others []string
	for _, n := range yamledit.At(docs[2], "spec", "kubeadmConfigSpec", "files").Content {
		p := yamledit.TextAt(n, "path")
		assert.False(t, seen[p], "%s twice", p)
		seen[p] = true
		if strings.Contains(p, "keepvip") {
			ours = append(ours, p)
		} else {
			others = append(others, p)
		}
	}
	return append(ours, others...)
}

func TestMergeControlPlaneOfAClass(t *testing.T) {
	give := "apiVersion: controlplane.cluster.x-k8s.io/v1beta2\nkind: KubeadmControlPlaneTemplate\nspec:\n  template:\n    spec:\n      kubeadmConfigSpec:\n        postKubeadmCommands:\n        - rm /etc/kubernetes/manifests/kube-vip.yaml\n        - \"true\"\n"
	got, notes, err := MergeControlPlane("t", []byte(give), part(t))
	require.NoError(t, err)
	var d struct {
		Spec struct {
			Template struct {
				Spec struct {
					KubeadmConfigSpec struct {
						ClusterConfiguration struct {
							ControlPlaneEndpoint string `yaml:"controlPlaneEndpoint"`
							APIServer            struct {
								CertSANs []string `yaml:"certSANs"`
							} `yaml:"apiServer"`
						} `yaml:"clusterConfiguration"`
						Files []fileEntry `yaml:"files"`
						Post  []string    `yaml:"postKubeadmCommands"`
					} `yaml:"kubeadmConfigSpec"`
				} `yaml:"spec"`
			} `yaml:"template"`
		} `yaml:"spec"`
	}
	require.NoError(t, yaml.Unmarshal(got, &d))
	spec := d.Spec.Template.Spec.KubeadmConfigSpec
	assert.Equal(t, "10.77.0.100:6443", spec.ClusterConfiguration.ControlPlaneEndpoint)
	assert.Equal(t, []string{"fd77::100"}, spec.ClusterConfiguration.APIServer.CertSANs)
	assert.Len(t, spec.Files, 2)
	assert.Equal(t, &contentFrom{secretRef{"blue-keepvip", "key"}}, spec.Files[1].ContentFrom)
	assert.Equal(t, "0600", spec.Files[1].Permissions)
	assert.Equal(t, []string{"true"}, spec.Post)
	require.Len(t, notes, 2)
	assert.Contains(t, notes[0], "no object had a controlPlaneEndpoint")
	assert.Equal(t, "took out of postKubeadmCommands: rm /etc/kubernetes/manifests/kube-vip.yaml", notes[1])
}

func TestMergeControlPlaneRefuses(t *testing.T) {
	const kcp = "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane\nspec:\n  kubeadmConfigSpec: {}\n"
	tests := []struct {
		name string
		give string
		edit func(*ControlPlaneConfig)
		want string
	}{
		{"nothing to merge into", "kind: Cluster\n", nil, "kubeadm: t: 0 objects of kind KubeadmControlPlane or KubeadmControlPlaneTemplate, want one"},
		{"two", kcp + "---\n" + kcp, nil, "kubeadm: t: 2 objects of kind KubeadmControlPlane or KubeadmControlPlaneTemplate, want one"},
		{"another address", kcp + "---\nkind: Cluster\nspec:\n  controlPlaneEndpoint: {host: 10.77.0.99, port: 6443}\n", nil, "kubeadm: t:6: controlPlaneEndpoint 10.77.0.99:6443 of Cluster, want 10.77.0.100:6443"},
		{"another port", kcp + "---\nkind: Cluster\nspec:\n  controlPlaneEndpoint: {host: 10.77.0.100, port: 443}\n", nil, "kubeadm: t:6: controlPlaneEndpoint 10.77.0.100:443 of Cluster, want 10.77.0.100:6443"},
		{"odd secret", kcp, func(c *ControlPlaneConfig) { c.Secrets[0].Name = "a b" }, `kubeadm: secret "a b" with the key "key", want the name of a Secret and of a key in it`},
		{"relative secret", kcp, func(c *ControlPlaneConfig) { c.Secrets[0].Path = "key" }, `kubeadm: secret file "key", want an absolute, clean path on the node`},
		{"no endpoint", kcp, func(c *ControlPlaneConfig) { c.Endpoint = Endpoint{} }, "kubeadm: no endpoint, want the virtual address and the apiserver's port"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := part(t)
			if tt.edit != nil {
				tt.edit(&cfg)
			}
			out, _, err := MergeControlPlane("t", []byte(tt.give), cfg)
			assert.EqualError(t, err, tt.want)
			assert.Nil(t, out)
		})
	}
}

func TestEndpointString(t *testing.T) {
	assert.Equal(t, "[fd77::100]:6443", Endpoint{Host: "fd77::100", Port: 6443}.String())
	assert.Equal(t, "api.example.com:443", Endpoint{Host: "api.example.com", Port: 443}.String())
	for give, want := range map[string][2]string{
		"10.0.0.1": {"10.0.0.1", ""}, "10.0.0.1:6443": {"10.0.0.1", "6443"}, "fd77::1": {"fd77::1", ""},
		"[fd77::1]": {"fd77::1", ""}, "[fd77::1]:443": {"fd77::1", "443"}, "api": {"api", ""}, "": {"", ""},
	} {
		host, port := splitEndpoint(give)
		assert.Equal(t, want, [2]string{host, port}, give)
	}
}

// A result that would run both programs is none.
func TestMergeControlPlaneLeavesNoKubeVIPInPatches(t *testing.T) {
	const kcp = "---\napiVersion: controlplane.cluster.x-k8s.io/v1beta2\nkind: KubeadmControlPlaneTemplate\nspec:\n  template:\n    spec:\n      kubeadmConfigSpec: {}\n"
	const patch = "kind: ClusterClass\nmetadata: {name: kube-vip-class}\nspec:\n  patches:\n  - definitions:\n    - jsonPatches:\n      - op: add\n        path: /spec/template/spec/kubeadmConfigSpec/files/-\n        valueFrom:\n"
	for valueFrom, want := range map[string]string{
		"          variable: kubeVipPodManifest\n":                                           "kubeadm: t:10: kube-vip would stay beside keepvip, by variable: kubeVipPodManifest; take this out",
		"          template: |\n            path: /m/kube-vip.yaml\n            mode: 600\n": "kubeadm: t:10: kube-vip would stay beside keepvip, by template: path: /m/kube-vip.yaml; take this out",
	} {
		got, notes, err := MergeControlPlane("t", []byte(patch+valueFrom+kcp), part(t))
		assert.ErrorContains(t, err, want)
		assert.Nil(t, got)
		assert.Nil(t, notes)
	}
	_, _, err := MergeControlPlane("t", []byte(patch+"          variable: another\n"+kcp), part(t))
	assert.NoError(t, err, "a name is none")
}

// clusterctl fills variables in before the text is YAML.
func TestMergeControlPlaneIntoATemplateThatIsNoYAMLYet(t *testing.T) {
	give := "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane\nspec:\n  kubeadmConfigSpec:\n    users:\n    - name: root\n      sshAuthorizedKeys: [${KEYS}] # ${WHOSE}\n    extra: {a: ${A}, b: ${A:=x, y}}\n"
	got, _, err := MergeControlPlane("t", []byte(give), part(t))
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(got), give), "every line stays as it is: %s", got)
	assert.Contains(t, string(got), ManifestPath)
}
