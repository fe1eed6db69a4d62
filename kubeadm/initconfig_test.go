package kubeadm

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func addresses(list ...string) []netip.Addr {
	var out []netip.Addr
	for _, s := range list {
		out = append(out, netip.MustParseAddr(s))
	}
	return out
}

const (
	v4Cluster = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n"
	v4Init    = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\n"
	v4Join    = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\n"
	endpoint0 = "controlPlaneEndpoint: 10.77.0.100:6443\n"
)

func TestInitConfigFit(t *testing.T) {
	vip, dual := addresses("10.77.0.100"), addresses("10.77.0.100", "fd77::100")
	tests := []struct {
		name  string
		give  string
		vips  []netip.Addr
		want  string // joined lines, "" when it fits
		notes []string
	}{
		{"fits", v4Cluster + endpoint0, vip, "", nil},
		{"fits without a port", v4Cluster + "controlPlaneEndpoint: 10.77.0.100\n", vip, "", nil},
		{"fits with IPv6", v4Cluster + "controlPlaneEndpoint: \"[fd77::100]:6443\"\n", addresses("fd77::100"), "", nil},
		{"in the subnet of services", v4Cluster + endpoint0 + "networking:\n  serviceSubnet: 10.76.0.0/14\n", vip, "kubeadm: k:5: serviceSubnet 10.76.0.0/14 contains the virtual address 10.77.0.100, want an address of the nodes' own subnet, or another serviceSubnet", nil},
		{"in the second subnet of pods", v4Cluster + endpoint0 + "networking:\n  podSubnet: fd96::/64, 10.77.0.0/16\n", vip, "kubeadm: k:5: podSubnet 10.77.0.0/16 contains the virtual address 10.77.0.100, want an address of the nodes' own subnet, or another podSubnet", nil},
		{"in the subnet of services that kubeadm takes", v4Cluster + "controlPlaneEndpoint: 10.100.0.100:6443\n", addresses("10.100.0.100"), "kubeadm: k:1: no networking.serviceSubnet, so that kubeadm takes 10.96.0.0/12, which contains the virtual address 10.100.0.100, want an address of the nodes' own subnet, or another serviceSubnet", nil},
		{"outside of the subnet of services", v4Cluster + "controlPlaneEndpoint: 10.100.0.100:6443\nnetworking:\n  serviceSubnet: 10.96.0.0/16\n", addresses("10.100.0.100"), "", nil},
		{"no endpoint", v4Cluster, vip, `kubeadm: k:1: no controlPlaneEndpoint, want "10.77.0.100:6443" in ClusterConfiguration; --print-kubeadm adds it`, nil},
		{"no ClusterConfiguration", v4Init, vip, `kubeadm: k: no controlPlaneEndpoint, want "10.77.0.100:6443" in ClusterConfiguration; --print-kubeadm adds it`, nil},
		{"another address", v4Cluster + "controlPlaneEndpoint: 10.77.0.99:6443\n", vip, "kubeadm: k:3: controlPlaneEndpoint 10.77.0.99:6443, want the virtual address 10.77.0.100", nil},
		{"another port", v4Cluster + "controlPlaneEndpoint: 10.77.0.100:8443\n", vip, "kubeadm: k:3: controlPlaneEndpoint 10.77.0.100:8443, want port 6443, on which the apiservers listen (localAPIEndpoint.bindPort): keepvip translates ports only where it spreads the load (spread.ports)", nil},
		{"the same other port", v4Cluster + "controlPlaneEndpoint: 10.77.0.100:8443\n---\n" + v4Init + "localAPIEndpoint:\n  bindPort: 8443\n", vip, "", nil},
		{"a name", v4Cluster + "controlPlaneEndpoint: api.example.com:6443\n", dual, "", []string{"k: controlPlaneEndpoint api.example.com:6443 is a name: it has to resolve to 10.77.0.100 or fd77::100 on every node"}},
		{"second family without a name in the certificate", v4Cluster + endpoint0, dual, "kubeadm: k:1: fd77::100 is not in apiServer.certSANs, so that the certificate would not be valid for it; --print-kubeadm adds it", nil},
		{"second family in the certificate", v4Cluster + endpoint0 + "apiServer:\n  certSANs: [\"fd77:0::100\"]\n", dual, "", nil},
		{"dual stack, one address", v4Cluster + endpoint0 + "networking:\n  serviceSubnet: 10.96.0.0/16,fd96::/108\n", vip, "", []string{"k: the cluster is dual stack, but 10.77.0.100 has one family; clients of the other need a --vip of it"}},
		{"dual stack, two addresses", v4Cluster + endpoint0 + "apiServer: {certSANs: [\"fd77::100\"]}\nnetworking: {serviceSubnet: \"10.96.0.0/16,fd96::/108\"}\n", dual, "", nil},
		{"the other family", v4Cluster + endpoint0 + "networking:\n  serviceSubnet: fd96::/108\n", vip, "", []string{"k: networking.serviceSubnet has not the family of 10.77.0.100"}},
		{"advertises the address", v4Cluster + endpoint0 + "---\n" + v4Init + "localAPIEndpoint:\n  advertiseAddress: 10.77.0.100\n", vip, "kubeadm: k:8: advertiseAddress 10.77.0.100 is the virtual address, want the node's own", nil},
		{"node-ip, a list", v4Cluster + endpoint0 + "---\n" + v4Init + "nodeRegistration:\n  kubeletExtraArgs:\n  - name: node-ip\n    value: 10.77.0.100\n", vip, "kubeadm: k:9: node-ip 10.77.0.100 is the virtual address, want the node's own", nil},
		{"node-ip, a mapping", strings.ReplaceAll(v4Cluster+endpoint0+"---\n"+v4Join, "beta4", "beta3") + "nodeRegistration:\n  kubeletExtraArgs:\n    node-ip: 10.77.0.100\n", vip, "kubeadm: k:9: node-ip 10.77.0.100 is the virtual address, want the node's own", nil},
		{"bound to one address", v4Cluster + endpoint0 + "apiServer:\n  extraArgs:\n  - name: bind-address\n    value: 10.77.0.11\n", vip, `kubeadm: k:6: bind-address 10.77.0.11, want it left out or "::": the apiserver has to answer at 10.77.0.100, too`, nil},
		{"bound to IPv4", v4Cluster + endpoint0 + "apiServer:\n  certSANs: [\"fd77::100\"]\n  extraArgs:\n  - name: bind-address\n    value: 0.0.0.0\n", dual, `kubeadm: k:7: bind-address 0.0.0.0, want it left out or "::": the apiserver has to answer at fd77::100, too`, nil},
		{"bound to everything", v4Cluster + endpoint0 + "apiServer:\n  extraArgs:\n  - name: bind-address\n    value: 0.0.0.0\n", vip, "", nil},
		{"joins elsewhere", v4Cluster + endpoint0 + "---\n" + v4Join + "discovery:\n  bootstrapToken:\n    apiServerEndpoint: 10.77.0.11:6443\n", vip, "kubeadm: k:9: apiServerEndpoint 10.77.0.11:6443, want the controlPlaneEndpoint 10.77.0.100:6443", nil},
		{"no anonymous access", v4Cluster + endpoint0 + "apiServer:\n  extraArgs:\n  - name: anonymous-auth\n    value: \"false\"\n", vip, "", []string{"k: with anonymous-auth=false the health check sees only that the apiserver answers (401), not whether it is ready"}},
		{"others are left alone", v4Cluster + endpoint0 + "---\napiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n", vip, "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := ReadInitConfig("k", []byte(tt.give))
			require.NoError(t, err)
			notes, err := c.Fit(tt.vips)
			assert.Equal(t, tt.notes, notes)
			if tt.want == "" {
				assert.NoError(t, err)
				return
			}
			assert.EqualError(t, err, tt.want)
		})
	}
}

func TestReadInitConfigRefuses(t *testing.T) {
	tests := []struct{ name, give, want string }{
		{"an old version", "apiVersion: kubeadm.k8s.io/v1beta2\nkind: ClusterConfiguration\n", "kubeadm: k:1: apiVersion kubeadm.k8s.io/v1beta2, want v1beta3 or v1beta4: kubeadm config migrate"},
		{"something else", "kind: Pod\n", "kubeadm: k: no ClusterConfiguration, InitConfiguration or JoinConfiguration of kubeadm.k8s.io/v1beta3 or v1beta4, want one"},
		{"two of a kind", v4Cluster + "---\n" + v4Cluster, "kubeadm: k:4: a second ClusterConfiguration, want one"},
		{"not YAML", "a: [", "kubeadm: k:1: not valid YAML: did not find expected node content"},
		{"a port that is none", v4Cluster + "controlPlaneEndpoint: 10.77.0.100:x\n", "kubeadm: k:3: controlPlaneEndpoint 10.77.0.100:x, want a port from 1 to 65535"},
		{"a bindPort that is none", v4Init + "localAPIEndpoint: {bindPort: 0}\n", `kubeadm: k:3: bindPort "0", want a port from 1 to 65535`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := ReadInitConfig("k", []byte(tt.give))
			assert.EqualError(t, err, tt.want)
			assert.Nil(t, c)
		})
	}
}

func TestInitConfigCompleteGolden(t *testing.T) {
	old, err := os.ReadFile(filepath.Join("testdata", "kubeadm.yaml"))
	require.NoError(t, err)
	dual := addresses("10.77.0.100", "fd77::100")
	c, err := ReadInitConfig("k", old)
	require.NoError(t, err)
	_, err = c.Fit(dual)
	require.Error(t, err)
	got, err := c.Complete(dual)
	require.NoError(t, err)
	golden(t, "kubeadm-complete.yaml", got)

	done, err := ReadInitConfig("k", got)
	require.NoError(t, err)
	notes, err := done.Fit(dual)
	assert.NoError(t, err, "what was added is what was missing")
	assert.Empty(t, notes)
	again, err := done.Complete(dual)
	require.NoError(t, err)
	assert.Equal(t, string(got), string(again))
}

func TestInitConfigComplete(t *testing.T) {
	for give, want := range map[string]string{
		"":                                   v4Cluster + endpoint0,
		v4Init:                               v4Init + "---\n" + v4Cluster + endpoint0,
		strings.ReplaceAll(v4Init, "4", "3"): strings.ReplaceAll(v4Init, "4", "3") + "---\n" + strings.ReplaceAll(v4Cluster, "beta4", "beta3") + endpoint0,
	} {
		c, err := ReadInitConfig("k", []byte(give))
		require.NoError(t, err)
		got, err := c.Complete(addresses("10.77.0.100"))
		require.NoError(t, err)
		assert.Equal(t, want, string(got))
	}
	c, err := ReadInitConfig("k", []byte(v4Cluster+"controlPlaneEndpoint: 10.0.0.1\n"))
	require.NoError(t, err)
	out, err := c.Complete(addresses("10.77.0.100"))
	assert.ErrorContains(t, err, "want the virtual address 10.77.0.100")
	assert.Nil(t, out)
}

func FuzzInitConfig(f *testing.F) {
	f.Add(v4Cluster + endpoint0 + "apiServer:\n  certSANs: [a]\n")
	f.Add(v4Init + "nodeRegistration:\n  kubeletExtraArgs:\n  - name: node-ip\n")
	f.Add("a: &a [*a]\n")
	vips := addresses("10.77.0.100", "fd77::100")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ReadInitConfig("k", []byte(text))
		if err != nil || len(text) > 4096 {
			return
		}
		if len(text)%2 == 0 {
			c.Spreads(6443)
		}
		out, err := c.Complete(vips)
		if err != nil {
			return
		}
		done, err := ReadInitConfig("k", out)
		require.NoError(t, err)
		_, err = done.Fit(vips)
		assert.NoError(t, err)
	})
}

// A load that is spread may come in at another port than the one that the apiservers listen on.
func TestFitOfAPortThatIsTranslated(t *testing.T) {
	c, err := ReadInitConfig("k", []byte(v4Cluster+"controlPlaneEndpoint: 10.77.0.100:8443\n"))
	require.NoError(t, err)
	vip := addresses("10.77.0.100")
	for _, ports := range [][]uint16{nil, {9443}, {9443, 8443}} {
		c.Spreads(ports...)
		_, fits := c.Fit(vip)
		_, completes := c.Complete(vip)
		if len(ports) == 2 {
			assert.NoError(t, fits)
			assert.NoError(t, completes)
			continue
		}
		assert.ErrorContains(t, fits, "want port 6443")
		assert.ErrorContains(t, completes, "want port 6443")
	}
}
