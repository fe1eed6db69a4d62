package kubeadm

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// flags is the simple case: one address, no file.
func flags() PodConfig {
	return PodConfig{
		Node:  Node{Args: []string{"--vip=10.77.0.100", "--interface=eth0"}, Socket: "/run/keepvip/keepvip.sock", StateDir: "/var/lib/keepvip"},
		Image: "ghcr.io/keepvip/keepvip:v0.1.0", Metrics: "127.0.0.1:9645",
	}
}

func inline() PodConfig {
	cfg := flags()
	cfg.Image = "registry.example:5000/infra/keepvip@sha256:" + strings.Repeat("0123456789abcdef", 4)
	cfg.Args = nil
	cfg.ConfigYAML = []byte("# One file for all nodes.\napiVersion: keepvip/v1\nkind: Config\nkey: {file: /etc/keepvip/key}\nvips:\n- addresses: [10.77.0.100]\n  check: {url: \"https://127.0.0.1:6443/readyz?a=$(HOSTNAME)\"}\n")
	cfg.KeyFile = "/etc/keepvip/key"
	return cfg
}

func file() PodConfig {
	cfg := flags()
	cfg.Args = []string{"--priority=50"}
	cfg.ConfigFile = "/etc/keepvip/keepvip.yaml"
	cfg.KeyFile = "/etc/keepvip/key"
	cfg.CAFiles = []string{"/etc/kubernetes/pki/ca.crt", "/etc/ssl/other.pem", "/etc/kubernetes/pki/ca.crt"}
	cfg.Metrics = ""
	return cfg
}

func TestPodNamesThePortOfTheMetrics(t *testing.T) {
	cfg := flags()
	cfg.MetricsPort = 9645
	out, err := Pod(cfg)
	require.NoError(t, err)
	assert.Contains(t, string(out), "    ports:\n    - containerPort: 9645\n      name: metrics\n")
}

func TestPodGolden(t *testing.T) {
	for name, cfg := range map[string]PodConfig{"pod-flags.yaml": flags(), "pod-inline.yaml": inline(), "pod-file.yaml": file()} {
		t.Run(name, func(t *testing.T) {
			got, err := Pod(cfg)
			require.NoError(t, err)
			golden(t, name, got)
			again, err := Pod(cfg)
			require.NoError(t, err)
			assert.True(t, bytes.Equal(got, again), "the same bytes each time")
		})
	}
}

func parse(t *testing.T, cfg PodConfig) pod {
	t.Helper()
	out, err := Pod(cfg)
	require.NoError(t, err)
	var p pod
	require.NoError(t, yaml.UnmarshalStrict(out, &p))
	require.Len(t, p.Spec.Containers, 1)
	return p
}

func TestPodIsConfined(t *testing.T) {
	for _, cfg := range []PodConfig{flags(), inline(), file()} {
		p := parse(t, cfg)
		assert.True(t, p.Spec.HostNetwork)
		assert.False(t, p.Spec.AutomountServiceAccountToken)
		assert.False(t, p.Spec.EnableServiceLinks)
		c := p.Spec.Containers[0]
		assert.Equal(t, capabilities{Add: []string{"NET_ADMIN", "NET_RAW"}, Drop: []string{"ALL"}}, c.SecurityContext.Capabilities)
		assert.True(t, c.SecurityContext.ReadOnlyRootFilesystem)
		assert.False(t, c.SecurityContext.AllowPrivilegeEscalation)
		assert.Equal(t, "RuntimeDefault", c.SecurityContext.SeccompProfile.Type)
		assert.NotContains(t, c.Resources.Limits, "cpu")
	}
}

func TestPodKeepsTheKubeletFromExpanding(t *testing.T) {
	cfg := inline()
	cfg.Args = []string{"--check=http://127.0.0.1/$(A)$B$$C"}
	c := parse(t, cfg).Spec.Containers[0]
	assert.Equal(t, []string{"run", "--check=http://127.0.0.1/$$(A)$$B$$$$C"}, c.Args)
	assert.Equal(t, inlineVariable, c.Env[0].Name)
	assert.Equal(t, string(cfg.ConfigYAML), strings.ReplaceAll(c.Env[0].Value, "$$", "$"))
	assert.NotContains(t, strings.ReplaceAll(c.Env[0].Value, "$$", ""), "$")
}

func TestPodMounts(t *testing.T) {
	type mount struct {
		path, kind string
		readOnly   bool
	}
	tests := []struct {
		name string
		edit func(*PodConfig)
		want []mount // after socket and state directory
	}{
		{"nothing configured", func(*PodConfig) {}, nil},
		{"key in a directory of our own", func(c *PodConfig) { c.KeyFile = "/etc/keepvip/key" }, []mount{{"/etc/keepvip", "Directory", true}}},
		{"key elsewhere", func(c *PodConfig) { c.KeyFile = "/etc/secrets/keepvip.key" }, []mount{{"/etc/secrets/keepvip.key", "File", true}}},
		{"all in one directory of our own", func(c *PodConfig) {
			c.ConfigFile, c.KeyFile, c.CAFiles = "/etc/keepvip/c.yaml", "/etc/keepvip/key", []string{"/etc/keepvip/ca.crt"}
		}, []mount{{"/etc/keepvip", "Directory", true}}},
		{"two directories of our own", func(c *PodConfig) { c.ConfigFile, c.KeyFile = "/etc/keepvip/c.yaml", "/opt/keepvip/key" }, []mount{{"/etc/keepvip", "Directory", true}, {"/opt/keepvip", "Directory", true}}},
		{"kubeadm's CA, not the keys beside it", func(c *PodConfig) { c.CAFiles = []string{"/etc/kubernetes/pki/ca.crt"} }, []mount{{"/etc/kubernetes/pki/ca.crt", "File", true}}},
		{"further secrets", func(c *PodConfig) {
			c.KeyFile, c.SecretFiles = "/etc/keepvip/key", []string{"/etc/keepvip/key.2", "/etc/pw", "/etc/a", "/etc/pw"}
		}, []mount{{"/etc/keepvip", "Directory", true}, {"/etc/a", "File", true}, {"/etc/pw", "File", true}}},
		{"key in the state directory", func(c *PodConfig) { c.KeyFile = "/var/lib/keepvip/key" }, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := flags()
			tt.edit(&cfg)
			p := parse(t, cfg)
			var got []mount
			names := map[string]bool{}
			for i, v := range p.Spec.Volumes {
				m := p.Spec.Containers[0].VolumeMounts[i]
				assert.Equal(t, v.Name, m.Name)
				assert.Equal(t, v.HostPath.Path, m.MountPath)
				assert.False(t, names[v.Name], "volume %s twice", v.Name)
				names[v.Name] = true
				got = append(got, mount{v.HostPath.Path, v.HostPath.Type, m.ReadOnly})
			}
			want := append([]mount{{"/run/keepvip", "DirectoryOrCreate", false}, {"/var/lib/keepvip", "DirectoryOrCreate", false}}, tt.want...)
			assert.Equal(t, want, got)
		})
	}
}

func TestPodSharedDirectory(t *testing.T) {
	cfg := flags()
	cfg.Socket = "/var/lib/keepvip/keepvip.sock"
	p := parse(t, cfg)
	assert.Len(t, p.Spec.Volumes, 1)
}

func TestPodProbes(t *testing.T) {
	tests := []struct{ metrics, host string }{
		{"127.0.0.1:9645", "127.0.0.1"},
		{"localhost:9645", "127.0.0.1"},
		{"0.0.0.0:9645", "127.0.0.1"},
		{":9645", "127.0.0.1"},
		{"[::]:9645", "::1"},
		{"[::1]:9645", "::1"},
		{"10.77.0.11:9645", "10.77.0.11"},
	}
	for _, tt := range tests {
		t.Run(tt.metrics, func(t *testing.T) {
			cfg := flags()
			cfg.Metrics = tt.metrics
			c := parse(t, cfg).Spec.Containers[0]
			assert.Equal(t, httpGet{Host: tt.host, Path: "/livez", Port: 9645}, c.LivenessProbe.HTTPGet)
			assert.Equal(t, httpGet{Host: tt.host, Path: "/readyz", Port: 9645}, c.ReadinessProbe.HTTPGet)
			assert.Equal(t, httpGet{Host: tt.host, Path: "/livez", Port: 9645}, c.StartupProbe.HTTPGet)
		})
	}
	c := parse(t, file()).Spec.Containers[0]
	assert.Nil(t, c.LivenessProbe)
	assert.Nil(t, c.ReadinessProbe)
	assert.Nil(t, c.StartupProbe)
}

func TestPodRefuses(t *testing.T) {
	tests := []struct {
		name string
		edit func(*PodConfig)
		want string
	}{
		{"no image", func(c *PodConfig) { c.Image = "" }, `kubeadm: image "", want a reference such as registry.example/keepvip:v1.0.0`},
		{"image without tag", func(c *PodConfig) { c.Image = "ghcr.io/keepvip/keepvip" }, `kubeadm: image "ghcr.io/keepvip/keepvip" without tag or digest, want one: a restart must not change the version`},
		{"registry port is no tag", func(c *PodConfig) { c.Image = "registry:5000/keepvip" }, `kubeadm: image "registry:5000/keepvip" without tag or digest, want one: a restart must not change the version`},
		{"image with a space", func(c *PodConfig) { c.Image = "keepvip:v1 x" }, `kubeadm: image "keepvip:v1 x", want a reference such as registry.example/keepvip:v1.0.0`},
		{"short digest", func(c *PodConfig) { c.Image = "keepvip@sha256:abc" }, `kubeadm: image "keepvip@sha256:abc", want a reference such as registry.example/keepvip:v1.0.0`},
		{"nothing to run", func(c *PodConfig) { c.Args = nil }, "kubeadm: neither arguments nor a configuration, want one of them"},
		{"two configurations", func(c *PodConfig) { c.ConfigYAML, c.ConfigFile = []byte("a"), "/etc/keepvip/c" }, "kubeadm: a configuration both inline and as a file, want one of them"},
		{"relative config", func(c *PodConfig) { c.ConfigFile = "keepvip.yaml" }, `kubeadm: config file "keepvip.yaml", want an absolute, clean path on the node`},
		{"relative key", func(c *PodConfig) { c.KeyFile = "./key" }, `kubeadm: key file "./key", want an absolute, clean path on the node`},
		{"path that climbs", func(c *PodConfig) { c.StateDir = "/var/lib/keepvip/../x" }, `kubeadm: state directory "/var/lib/keepvip/../x", want an absolute, clean path on the node`},
		{"no socket", func(c *PodConfig) { c.Socket = "" }, `kubeadm: socket "", want an absolute, clean path on the node`},
		{"all of /run", func(c *PodConfig) { c.Socket = "/run/keepvip.sock" }, "kubeadm: socket /run/keepvip.sock, want a directory of its own such as /run/keepvip: the pod would see all of /run"},
		{"all of /", func(c *PodConfig) { c.StateDir = "/" }, "kubeadm: state directory /, want a directory of its own such as /run/keepvip: the pod would see all of /"},
		{"port 0", func(c *PodConfig) { c.Metrics = "127.0.0.1:0" }, `kubeadm: metrics "127.0.0.1:0", want host:port with a fixed port, which the kubelet's probes need`},
		{"no port", func(c *PodConfig) { c.Metrics = "127.0.0.1" }, `kubeadm: metrics "127.0.0.1", want host:port with a fixed port, which the kubelet's probes need`},
		{"CA with a colon", func(c *PodConfig) { c.CAFiles = []string{"/a:b/ca"} }, `kubeadm: ca file "/a:b/ca", want an absolute, clean path on the node`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := flags()
			tt.edit(&cfg)
			out, err := Pod(cfg)
			assert.EqualError(t, err, tt.want)
			assert.Nil(t, out)
		})
	}
}

func TestPodImages(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("a", 64)
	for _, image := range []string{"keepvip:v1", "localhost/keepvip:dev", "localhost:5000/keepvip:dev", "[::1]:5000/a/b:c", "ghcr.io/keepvip/keepvip:v1.0.0-rc.1", "k" + digest, "reg.example:443/a/b__c-d:v1" + digest} {
		assert.NoError(t, checkImage(image), image)
	}
	for _, image := range []string{"Keepvip:v1", "keepvip:", "-a:v1", "a//b:v1", "a/b/:v1", "keepvip:v1\n", "a:v1" + digest + "0"} {
		assert.Error(t, checkImage(image), image)
	}
}

// TestUnitSeesTheTunDevice, which PrivateDevices hides.
func TestUnitSeesTheTunDevice(t *testing.T) {
	cfg := UnitConfig{Binary: "/usr/bin/keepvip", Node: Node{Args: []string{"--vip=10.99.0.100"}, Socket: "/run/keepvip/s", StateDir: "/var/lib/keepvip"}}
	out, err := Systemd(cfg)
	require.NoError(t, err)
	assert.Contains(t, string(out), "\nPrivateDevices=yes\n")
	cfg.Tun = true
	out, err = Systemd(cfg)
	require.NoError(t, err)
	assert.NotContains(t, string(out), "PrivateDevices")
	assert.Contains(t, string(out), "\nDevicePolicy=closed\nDeviceAllow=/dev/net/tun rw\n")
}

func TestRealtimeAddsOneCapability(t *testing.T) {
	assert.Equal(t, []string{"NET_ADMIN", "NET_RAW", "SYS_NICE"}, confined(true, false).Capabilities.Add)
	unit, err := Systemd(UnitConfig{
		Binary: "/usr/bin/keepvip", Node: Node{Args: []string{"--realtime"}, Socket: "/run/keepvip/s", StateDir: "/var/lib/keepvip", Realtime: true},
	})
	require.NoError(t, err)
	assert.Contains(t, string(unit), "CapabilityBoundingSet=CAP_NET_ADMIN CAP_NET_RAW CAP_SYS_NICE\n")
}
