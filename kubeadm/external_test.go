package kubeadm

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFitOfAnExternalAddress(t *testing.T) {
	vip := addresses("10.77.0.100")
	const noSAN = "k: 10.77.0.100 is not in apiServer.certSANs: in mode internal clients would refuse the certificate"
	for _, tt := range []struct {
		name, give string
		at         Endpoint
		want       string
		notes      []string
	}{
		{"the same name", "controlPlaneEndpoint: LB.example.:7443\n", Endpoint{"lb.example", 7443}, "", []string{noSAN}},
		{"the same address", "controlPlaneEndpoint: '[fd77:0::7]:7443'\n", Endpoint{"fd77::7", 7443}, "", []string{noSAN}},
		{"the address named as well", "controlPlaneEndpoint: lb.example\napiServer:\n  certSANs: [10.77.0.100]\n", Endpoint{"lb.example", 6443}, "", nil},
		{"a bind-address", "controlPlaneEndpoint: 10.77.0.100\napiServer:\n  extraArgs: [{name: bind-address, value: 10.77.0.11}]\n", Endpoint{"10.77.0.100", 6443}, "", nil},
		{
			"another", "controlPlaneEndpoint: 10.77.0.100:6443\n",
			Endpoint{"lb.example", 6443},
			"kubeadm: k:3: controlPlaneEndpoint 10.77.0.100:6443, want lb.example:6443, the external address (mode external)", nil,
		},
		{
			"another port", "controlPlaneEndpoint: lb.example\n",
			Endpoint{"lb.example", 7443},
			"kubeadm: k:3: controlPlaneEndpoint lb.example:6443, want lb.example:7443, the external address (mode external)", nil,
		},
		{
			"none", "",
			Endpoint{"lb.example", 7443},
			`kubeadm: k:1: no controlPlaneEndpoint, want "lb.example:7443" in ClusterConfiguration; --print-kubeadm adds it`,
			[]string{noSAN},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := ReadInitConfig("k", []byte(v4Cluster+tt.give))
			require.NoError(t, err)
			c.External(tt.at)
			notes, err := c.Fit(vip)
			assert.Equal(t, tt.notes, notes)
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, tt.want)
		})
	}
	c, err := ReadInitConfig("k", nil)
	require.NoError(t, err)
	c.External(Endpoint{"lb.example", 7443})
	out, err := c.Complete(vip)
	require.NoError(t, err)
	assert.Equal(t, v4Cluster+"controlPlaneEndpoint: lb.example:7443\n", string(out))
}
