package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// ownCertificatesOfRaft is a configuration whose members know each other by certificate files.
func ownCertificatesOfRaft(entry string) string {
	return "apiVersion: keepvip/v1\nkind: Config\nraft: {peers: [10.0.0.11, 10.0.0.12, 10.0.0.13], certificate: /etc/pki/node.crt, privateKey: /etc/pki/node.key, ca: /etc/pki/members.crt}\n" +
		"vips:\n- {addresses: [10.0.0.1], " + entry + "}\n"
}

// Without these a pod ends immediately, and anew with each start.
func TestManifestPodMountsTheCertificatesOfRaft(t *testing.T) {
	files := []string{"/etc/pki/node.crt", "/etc/pki/node.key", "/etc/pki/members.crt"}
	mounted := func(out, file string) bool {
		return strings.Contains(out, "    path: "+file+"\n") && strings.Contains(out, "mountPath: "+file+"\n")
	}
	for _, entry := range []string{"election: raft", "election: raft, mode: external, externalAddress: 'lb.example.org:6443'"} {
		file := writeAs(t, "c.yaml", ownCertificatesOfRaft(entry))
		for _, kind := range []string{"pod", "daemonset"} {
			out, errs := manifest(t, kind, "--config", file, "--image", testImage)
			for _, f := range files {
				assert.True(t, mounted(out, f), "%s, %s: %s\n%s", kind, entry, f, out)
			}
			assert.Contains(t, errs, "does not carry /etc/pki/node.crt")
			assert.Contains(t, errs, "does not carry /etc/pki/node.key")
		}
	}
	out, errs := manifest(t, "pod", "--config", writeAs(t, "c.yaml", ownCertificatesOfRaft("election: vrrp")), "--image", testImage)
	for _, f := range files {
		assert.False(t, mounted(out, f), "nothing reads it")
	}
	assert.NotContains(t, errs, "/etc/pki")

	one := strings.ReplaceAll(ownCertificatesOfRaft("election: raft"), "node.key", "node.crt")
	out, errs = manifest(t, "pod", "--config", writeAs(t, "c.yaml", one), "--image", testImage)
	assert.Equal(t, 1, strings.Count(out, "mountPath: /etc/pki/node.crt\n"))
	assert.Equal(t, 1, strings.Count(errs, "/etc/pki/node.crt"))
}

// A unit sees /etc as it is, and user data carries no certificate: what is to be put onto the nodes is said.
func TestManifestsSayThatTheyDoNotCarryTheCertificatesOfRaft(t *testing.T) {
	file := writeAs(t, "c.yaml", ownCertificatesOfRaft("election: raft"))
	for _, args := range [][]string{{"systemd"}, {"cloud-init", "--image", testImage}, {"cloud-init", "--systemd"}} {
		_, errs := manifest(t, append(args, "--config", file)...)
		assert.Contains(t, errs, "does not carry /etc/pki/node.crt", args)
		assert.Contains(t, errs, "does not carry /etc/pki/node.key", args)
	}
}

// The Secret has the key: whatever else is secret would be missing on the nodes.
func TestControlPlaneRefusesSecretsBesideTheKey(t *testing.T) {
	const head = "apiVersion: keepvip/v1\nkind: Config\n"
	for text, want := range map[string]string{
		ownCertificatesOfRaft("election: raft"): "/etc/pki/node.crt, /etc/pki/node.key: more than the key",
		head + "vips: [{addresses: [10.0.0.1], vrrp: {version: 2, advertisementInterval: 1s, passwordFile: /etc/keepvip/pw}}]\n": "/etc/keepvip/pw: more than the key",
		head + "metrics: {address: '0.0.0.0:9645', certificate: /etc/keepvip/tls}\nvips: [{addresses: [10.0.0.1]}]\n":            "/etc/keepvip/tls: more than the key",
	} {
		code, out, errs := keepvip(t, "manifest", "kubeadmcontrolplane", "--config", writeAs(t, "c.yaml", text), "--image", testImage)
		assert.Equal(t, exitUsage, code, text)
		assert.Empty(t, out)
		assert.Contains(t, errs, want)
	}
}
