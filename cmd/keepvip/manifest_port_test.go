package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	elsewhere8443 = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\ncontrolPlaneEndpoint: 198.51.100.9:8443\n---\n" +
		"apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\nlocalAPIEndpoint: {bindPort: 8443}\n"
	asksAt6443 = "asks at port 6443, but the apiservers listen on 8443 (localAPIEndpoint.bindPort), want "
)

func entries(list string) string { return "apiVersion: keepvip/v1\nkind: Config\nvips:\n" + list }

// A check that is not given, or is a preset, asks at 6443. Where the apiservers listen elsewhere, each entry has such a check refused: a flag could
// not say which one it means.
func TestChecksOfSeveralEntriesAskAtThePortOfTheApiservers(t *testing.T) {
	cluster := writeAs(t, "k.yaml", elsewhere8443)
	const first, second = "- {name: a, addresses: [198.51.100.9]}\n", "- {name: b, addresses: [198.51.100.10]}\n"
	with := func(entry, key string) string { return strings.Replace(entry, "}", ", "+key+"}", 1) }
	right := "check: 'https://127.0.0.1:8443/readyz'"
	for _, tt := range []struct {
		name, list string
		want       []string // lines of an error
	}{
		{"neither is given", first + second, []string{
			"vips[0].check.url: the check, which is not given, " + asksAt6443 + "check: https://127.0.0.1:8443/readyz in this entry",
			"vips[1].check.url: the check, which is not given, " + asksAt6443 + "check: https://127.0.0.1:8443/readyz in this entry",
		}},
		{"the second is not given", with(first, right) + second, []string{"vips[1].check.url: the check, which is not given, " + asksAt6443}},
		{"a preset", with(first, right) + with(second, "check: kubeadm"), []string{":5: check kubeadm " + asksAt6443}},
		{"both are right", with(first, right) + with(second, right), nil},
		{"no apiserver's", with(first, right) + with(second, "check: none"), nil},
		{"one of the operator's own", with(first, right) + with(second, "check: 'https://127.0.0.1:9443/readyz'"), nil},
		{"a list", with(first, right) + with(second, "checks: [{kind: tcp, address: '127.0.0.1:53'}]"), nil},
	} {
		file := writeAs(t, "c.yaml", entries(tt.list))
		for _, args := range [][]string{
			{"manifest", "pod", "--config", file, "--kubeadm-config", cluster, "--image", testImage},
			{"manifest", "systemd", "--config", file, "--kubeadm-config", cluster},
			{"config", "validate", file, "--kubeadm-config", cluster},
		} {
			code, out, errs := keepvip(t, args...)
			if tt.want == nil {
				assert.Equal(t, exitOK, code, "%s: %v: %s", tt.name, args, errs)
				continue
			}
			assert.Equal(t, exitUsage, code, "%s: %v", tt.name, args)
			assert.Empty(t, out)
			assert.Equal(t, len(tt.want), strings.Count(errs, "\n"), errs)
			for _, line := range tt.want {
				assert.Contains(t, errs, line, "%s: %v", tt.name, args)
			}
		}
	}
}

// The check of one entry is set by a manifest, and nothing sets it for config validate, where the file is what will run.
func TestValidateHoldsTheCheckAgainstThePortOfTheApiservers(t *testing.T) {
	cluster, file := writeAs(t, "k.yaml", elsewhere8443), writeAs(t, "c.yaml", entries("- addresses: [198.51.100.9]\n"))
	code, out, errs := keepvip(t, "config", "validate", file, "--kubeadm-config", cluster)
	assert.Equal(t, exitUsage, code)
	assert.Empty(t, out)
	assert.Contains(t, errs, "vips[0].check.url: the check, which is not given, "+asksAt6443+"--check https://127.0.0.1:8443/readyz\n")

	code, _, errs = keepvip(t, "config", "validate", file, "--kubeadm-config", cluster, "--check", "https://127.0.0.1:8443/readyz")
	assert.Equal(t, exitOK, code, errs)
	out, _ = manifest(t, "pod", "--config", file, "--kubeadm-config", cluster, "--image", testImage)
	assert.Contains(t, out, "- --check=https://127.0.0.1:8443/readyz\n")
}

// A node with backends asks those, whatever the port of the apiservers here.
func TestManifestLeavesTheCheckOfBackendsAlone(t *testing.T) {
	cluster := writeAs(t, "k.yaml", elsewhere8443)
	file := writeAs(t, "c.yaml", entries("- {addresses: [198.51.100.9], spread: {via: masquerade, ports: [{port: 8443}], backends: [{addresses: [198.51.100.21]}]}}\n"))
	out, _ := manifest(t, "pod", "--config", file, "--kubeadm-config", cluster, "--image", testImage)
	assert.NotContains(t, out, "--check")
}

func templateOf(endpoint, init string) string {
	text := "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata:\n  name: blue\nspec:\n  controlPlaneEndpoint:\n    host: 10.0.0.9\n    port: " + endpoint +
		"\n---\napiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane\nmetadata:\n  name: blue\nspec:\n  kubeadmConfigSpec:\n    clusterConfiguration:\n      clusterName: blue\n"
	if init != "" {
		text += "    initConfiguration:\n      localAPIEndpoint:\n        bindPort: " + init +
			"\n    joinConfiguration:\n      controlPlane:\n        localAPIEndpoint:\n          bindPort: " + init + "\n"
	}
	return text
}

func TestControlPlaneOfATemplateAsksAtItsBindPort(t *testing.T) {
	translates := writeAs(t, "c.yaml", entries("- {addresses: [10.0.0.9], spread: {via: direct, ports: [{port: 8443, target: 6443}]}}\n"))
	const check = "--check=https://127.0.0.1:8443/readyz"
	for _, tt := range []struct {
		name, endpoint, init string
		args                 []string
		has, not, fails      string
	}{
		{name: "the port of both", endpoint: "8443", init: "8443", has: check},
		{name: "kubeadm's port", endpoint: "6443", not: "--check"},
		{name: "an endpoint whose port is a variable", endpoint: "${PORT}", init: "8443", has: check},
		{name: "both are variables", endpoint: "${PORT}", init: "${PORT}", not: "--check"},
		{name: "a check of the operator's own", endpoint: "8443", init: "8443", args: []string{"--check", "https://127.0.0.1:9/"}, has: "--check=https://127.0.0.1:9/", not: "8443/readyz"},
		{name: "a load that is spread", endpoint: "8443", args: []string{"--config", translates}, not: "--check"},
		{name: "an endpoint at which nobody listens", endpoint: "8443", fails: "controlPlaneEndpoint 10.0.0.9:8443, want port 6443, on which the apiservers listen (localAPIEndpoint.bindPort)"},
		{name: "the other way round", endpoint: "6443", init: "8443", fails: "controlPlaneEndpoint 10.0.0.9:6443, want port 8443, on which the apiservers listen"},
		{name: "a preset", endpoint: "8443", init: "8443", args: []string{"--check", "kubeadm"}, fails: "--check: check kubeadm " + asksAt6443 + "--check https://127.0.0.1:8443/readyz"},
		{name: "no port", endpoint: "6443", init: "x", fails: `bindPort "x", want a port from 1 to 65535`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := writeAs(t, "t.yaml", templateOf(tt.endpoint, tt.init))
			code, out, errs := keepvip(t, append([]string{"manifest", "kubeadmcontrolplane", "--template", file, "--image", testImage}, tt.args...)...)
			if tt.fails != "" {
				assert.Equal(t, exitUsage, code)
				assert.Empty(t, out)
				assert.Contains(t, errs, tt.fails)
				return
			}
			assert.Equal(t, exitOK, code, errs)
			assert.Contains(t, out, tt.has)
			if tt.not != "" {
				assert.NotContains(t, out, tt.not)
			}
			assert.Equal(t, tt.init == "${PORT}", strings.Contains(errs, "is a variable: keepvip's check has to ask at that port"), errs)
		})
	}
}

// What is converted in a template asks at the port of that template, too.
func TestConvertInATemplateAsksAtItsBindPort(t *testing.T) {
	text, err := os.ReadFile(fixture("v1.0-pod.yaml"))
	require.NoError(t, err)
	pod := write(t, strings.Replace(string(text), "value: 10.77.0.100", "value: 10.0.0.9", 1))
	file := writeAs(t, "t.yaml", templateOf("8443", "8443"))
	code, out, errs := keepvip(t, "convert", pod, "--apply-to", file, "--image", testImage)
	assert.Equal(t, exitOK, code, errs)
	assert.Contains(t, out, "--check=https://127.0.0.1:8443/readyz")

	code, out, errs = keepvip(t, "convert", pod, "--apply-to", writeAs(t, "t.yaml", templateOf("8443", "")), "--image", testImage)
	assert.Equal(t, exitUsage, code)
	assert.Empty(t, out)
	assert.Contains(t, errs, "controlPlaneEndpoint 10.0.0.9:8443, want port 6443, on which the apiservers listen")
}
