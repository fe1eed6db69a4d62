package kubeadm

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCompleteTellsClientsToConnectAgainWhereTheLoadIsSpread(t *testing.T) {
	v3 := strings.ReplaceAll(v4Cluster, "beta4", "beta3")
	const list, mapping = "  extraArgs:\n    - name: goaway-chance\n      value: \"0.001\"\n", "  extraArgs:\n    goaway-chance: \"0.001\"\n"
	for _, tt := range []struct{ name, give, want string }{
		{"nothing", "", v4Cluster + endpoint0 + "apiServer:\n" + list},
		{"a list", v4Cluster + endpoint0, v4Cluster + endpoint0 + "apiServer:\n" + list},
		{"a mapping", v3 + endpoint0, v3 + endpoint0 + "apiServer:\n" + mapping},
		{
			"a list that is there",
			v4Cluster + endpoint0 + "apiServer:\n  extraArgs:\n  - name: v # mine\n    value: \"2\"\n  timeoutForControlPlane: 4m0s\n",
			v4Cluster + endpoint0 + "apiServer:\n  extraArgs:\n  - name: v # mine\n    value: \"2\"\n  - name: goaway-chance\n    value: \"0.001\"\n  timeoutForControlPlane: 4m0s\n",
		},
		{
			"a mapping that is there",
			v3 + endpoint0 + "apiServer:\n  extraArgs:\n    v: \"2\" # mine\n",
			v3 + endpoint0 + "apiServer:\n  extraArgs:\n    v: \"2\" # mine\n    goaway-chance: \"0.001\"\n",
		},
		{"a person's own", v4Cluster + endpoint0 + "apiServer:\n  extraArgs: [{name: goaway-chance, value: \"0\"}]\n", ""},
		{"a person's own in a mapping", v3 + endpoint0 + "apiServer: {extraArgs: {goaway-chance: \"0\"}}\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := ReadInitConfig("k", []byte(tt.give))
			require.NoError(t, err)
			c.Spreads(6443)
			got, err := c.Complete(addresses("10.77.0.100"))
			require.NoError(t, err)
			if tt.want == "" {
				tt.want = tt.give
			}
			assert.Equal(t, tt.want, string(got))

			done, err := ReadInitConfig("k", got)
			require.NoError(t, err)
			done.Spreads(6443)
			notes, err := done.Fit(addresses("10.77.0.100"))
			assert.NoError(t, err)
			assert.Empty(t, notes)
			again, err := done.Complete(addresses("10.77.0.100"))
			require.NoError(t, err)
			assert.Equal(t, string(got), string(again))
		})
	}
}

func TestFitNotesThatClientsStayWhereTheyAre(t *testing.T) {
	c, err := ReadInitConfig("k", []byte(v4Cluster+endpoint0))
	require.NoError(t, err)
	c.Spreads(6443)
	notes, err := c.Fit(addresses("10.77.0.100"))
	require.NoError(t, err)
	assert.Equal(t, []string{"k: no goaway-chance in apiServer.extraArgs, so that clients stay with the apiservers they have when another one comes back; --print-kubeadm adds it"}, notes)
}

func TestControlPlaneOfALoadThatIsSpread(t *testing.T) {
	cfg := part(t)
	cfg.Spread, cfg.CertSANs = true, nil
	alone, err := ControlPlane(cfg)
	require.NoError(t, err)
	assert.Contains(t, string(alone), "apiServer:\n        extraArgs:\n          - name: goaway-chance\n            value: \"0.001\"\n")

	const kcp = "apiVersion: controlplane.cluster.x-k8s.io/VERSION\nkind: KubeadmControlPlane\nspec:\n  kubeadmConfigSpec:\n    clusterConfiguration:\n      apiServer:\n"
	for version, want := range map[string]string{
		"v1beta1": "        extraArgs:\n          goaway-chance: \"0.001\"\n",
		"v1beta2": "        extraArgs:\n          - name: goaway-chance\n            value: \"0.001\"\n",
	} {
		got, _, err := MergeControlPlane("t", []byte(strings.Replace(kcp, "VERSION", version, 1)+"        certSANs: [a]\n"), cfg)
		require.NoError(t, err)
		assert.Contains(t, string(got), want, version)
		again, _, err := MergeControlPlane("t", got, cfg)
		require.NoError(t, err)
		assert.Equal(t, string(got), string(again))
	}
}
