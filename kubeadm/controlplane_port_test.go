package kubeadm

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// templateAt is a template whose first node listens on one port, and the nodes that join on another; "" for none.
func templateAt(init, join string) []byte {
	text := "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane\nmetadata:\n  name: blue\nspec:\n  kubeadmConfigSpec:\n" +
		"    clusterConfiguration:\n      controlPlaneEndpoint: 10.77.0.100:6443\n"
	if init != "" {
		text += "    initConfiguration:\n      localAPIEndpoint:\n        bindPort: " + init + "\n"
	}
	if join != "" {
		text += "    joinConfiguration:\n      controlPlane:\n        localAPIEndpoint:\n          bindPort: " + join + "\n"
	}
	return []byte(text)
}

func TestTemplateBindPort(t *testing.T) {
	for _, tt := range []struct {
		text string
		want uint16
	}{
		{"", 0},
		{"kind: Cluster\n", 0},
		{string(templateAt("", "")), 6443},
		{string(templateAt("0", "")), 6443},
		{string(templateAt("null", "")), 6443},
		{string(templateAt("8443", "8443")), 8443},
		{string(templateAt(`"8443"`, "")), 8443},
		{string(templateAt("${PORT:=8443}", "")), 0},
		{strings.Replace(string(templateAt("8443", "")), "  kubeadmConfigSpec:", "  other:", 1), 6443},
	} {
		got, err := TemplateBindPort("t", []byte(tt.text))
		require.NoError(t, err, tt.text)
		assert.Equal(t, tt.want, got, tt.text)
	}
	template := "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlaneTemplate\nspec:\n  template:\n    spec:\n" +
		"      kubeadmConfigSpec:\n        initConfiguration:\n          localAPIEndpoint: {bindPort: 7443}\n"
	got, err := TemplateBindPort("t", []byte(template))
	require.NoError(t, err)
	assert.Equal(t, uint16(7443), got)

	_, err = TemplateBindPort("t", templateAt("70000", ""))
	assert.EqualError(t, err, `kubeadm: t:11: bindPort "70000", want a port from 1 to 65535`)
	_, err = TemplateBindPort("t", []byte("a: b: c"))
	assert.ErrorContains(t, err, "kubeadm: t:1: ")
}

// The check is the same on all nodes: what a template says of their ports is held against itself.
func TestMergeControlPlaneHoldsThePortsOfTheNodesAgainstEachOther(t *testing.T) {
	merge := func(text []byte) (notes []string, err error) {
		cfg := part(t)
		cfg.Secrets, cfg.CertSANs = nil, nil
		_, notes, err = MergeControlPlane("t", text, cfg)
		return notes, err
	}
	const cluster = "---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nspec:\n  clusterNetwork:\n    apiServerPort: "
	for _, tt := range []struct {
		name string
		text []byte
		note string // "": none
	}{
		{"kubeadm's", templateAt("", ""), ""},
		{"the same", templateAt("8443", "8443"), ""},
		{"the first node alone", templateAt("8443", ""), "the bindPort in line 11 is for the first node alone: nodes that join listen on 6443, unless joinConfiguration.controlPlane.localAPIEndpoint has it, too"},
		{"a variable", templateAt("${PORT}", "${PORT}"), "the bindPort in line 11 is a variable: keepvip's check has to ask at that port, too (--check)"},
		{"a variable of the nodes that join", templateAt("6443", "${PORT}"), "the bindPort in line 15 is a variable: keepvip's check has to ask at that port, too (--check)"},
		{"the port of a balancer", append(templateAt("", ""), cluster+"443\n"...), "the apiServerPort 443 in line 14 is no bindPort: the apiservers listen on 6443 (localAPIEndpoint.bindPort)"},
		{"the port of the apiservers", append(templateAt("", ""), cluster+"6443\n"...), ""},
	} {
		notes, err := merge(tt.text)
		require.NoError(t, err, tt.name)
		var want []string
		if tt.note != "" {
			want = []string{tt.note}
		}
		assert.Equal(t, want, notes, tt.name)
	}
	_, err := merge(templateAt("8443", "9443"))
	assert.EqualError(t, err, "kubeadm: t:15: bindPort 9443 of joinConfiguration, want 8443 as of initConfiguration: the check of keepvip is the same on all nodes")
	_, err = merge(templateAt("", "8443"))
	assert.EqualError(t, err, "kubeadm: t:12: bindPort 8443 of joinConfiguration, want 6443 as of initConfiguration: the check of keepvip is the same on all nodes")
	_, err = merge(templateAt("", "x"))
	assert.EqualError(t, err, `kubeadm: t:12: bindPort "x", want a port from 1 to 65535`)
}

// A file for nodes that join has their port; kubeadm init has that of its own document.
func TestBindPortOfAFileForNodesThatJoin(t *testing.T) {
	const join = v4Join + "controlPlane:\n  localAPIEndpoint:\n    bindPort: 8443\n"
	for text, want := range map[string]uint16{join: 8443, v4Init + "---\n" + join: 6443, v4Join: 6443, v4Cluster: 6443} {
		c, err := ReadInitConfig("k", []byte(text))
		require.NoError(t, err)
		assert.Equal(t, want, c.BindPort(), text)
	}
	_, err := ReadInitConfig("k", []byte(strings.Replace(join, "8443", "x", 1)))
	assert.EqualError(t, err, `kubeadm: k:5: bindPort "x", want a port from 1 to 65535`)
}
