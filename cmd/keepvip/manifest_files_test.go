package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
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

func unitWith(entry string) string { return entries("- {addresses: [10.0.0.1], " + entry + "}\n") }

// A file that others make below /tmp would never be seen in a /tmp of the unit's own.
func TestManifestSystemdSeesTheFilesOfItsChecks(t *testing.T) {
	for _, tt := range []struct{ entry, has string }{
		{"checks: [{kind: file, path: /tmp/maintenance, absent: true}]", "PrivateTmp=no\n"},
		{"checks: [{kind: file, path: /var/tmp/load, number: true, weight: 1}]", "PrivateTmp=no\n"},
		{"checks: [{kind: https, url: 'https://127.0.0.1:1/', ca: /tmp/ca.crt}]", "PrivateTmp=no\n"},
		{"checks: [{kind: exec, command: [/tmp/check], user: nobody}]", "ReadWritePaths=/tmp\nReadWritePaths=/var/tmp\n"},
		{"hooks: [{command: [/tmp/hook], user: root}]", "PrivateTmp=no\n"},
		{"checks: [{kind: file, path: /run/keepvip/maintenance, absent: true}]", "PrivateTmp=yes\n"},
		{"checks: [{kind: exec, command: [/usr/bin/check], user: nobody}]", "PrivateTmp=yes\n"},
	} {
		for _, args := range [][]string{{"cloud-init", "--systemd"}, {"kubeadmcontrolplane", "--systemd"}} { // the file is below /etc there
			out, errs := manifest(t, append(args, "--config", writeAs(t, "c.yaml", unitWith(tt.entry)))...)
			for line := range strings.Lines(tt.has) {
				assert.Contains(t, out, line, "%s: %s", tt.entry, errs)
			}
			assert.NotContains(t, errs, "does not see")
		}
	}
	pipe := "apiVersion: keepvip/v1\nkind: Config\nnotifyFIFO: {path: /tmp/notify}\nvips: [{addresses: [10.0.0.1]}]\n"
	out, _ := manifest(t, "cloud-init", "--systemd", "--config", writeAs(t, "c.yaml", pipe))
	assert.Contains(t, out, "PrivateTmp=no\n")
	assert.Contains(t, out, "ReadWritePaths=/tmp\n")
}

// keepalived's track_file as it is run from its own file.
func TestManifestSystemdSeesTheFilesThatKeepalivedTracks(t *testing.T) {
	const text = "track_file load {\n file /tmp/load\n}\nvrrp_instance a {\n interface eth0\n virtual_router_id 5\n track_file {\n load weight 1\n }\n virtual_ipaddress {\n 10.77.0.100\n }\n}\n"
	k := keepalivedConf{}
	k.options.InMemory = true
	cfg, err := config.Load(config.Input{Conf: writeAs(t, "k.conf", text), Convert: k.read, Elsewhere: true})
	require.NoError(t, err)
	assert.Empty(t, unitOf(cfg, packagedBinary, "/etc/keepalived/keepalived.conf").Hides("/tmp/load"))
}

func TestManifestSystemdRefusesWhatItWouldNotSee(t *testing.T) {
	for entry, want := range map[string]string{
		"checks: [{kind: file, path: /home/ann/maintenance}]":                    "/home/ann/maintenance",
		"checks: [{kind: https, url: 'https://127.0.0.1:1/', ca: /root/ca.crt}]": "/root/ca.crt",
		"checks: [{kind: exec, command: [/home/ann/check], user: nobody}]":       "/home/ann/check",
		"check: {url: 'https://127.0.0.1:1/', ca: /root/pki/ca.crt}":             "/root/pki/ca.crt",
	} {
		file := writeAs(t, "c.yaml", unitWith(entry))
		for _, args := range [][]string{{"systemd"}, {"cloud-init", "--systemd"}, {"kubeadmcontrolplane", "--systemd"}} {
			code, out, errs := keepvip(t, append([]string{"manifest"}, append(args, "--config", file)...)...)
			assert.Equal(t, exitUsage, code, args)
			assert.Empty(t, out)
			assert.Contains(t, errs, want+", want a path outside of /home, /root and /run/user", args)
		}
	}
	for _, args := range [][]string{
		{"--key-file", "/root/key"}, {"--socket", "/home/ann/s"}, {"--follower", "--spread", "direct", "--follow-key-file", "/root/follower.key"},
	} {
		code, out, errs := keepvip(t, append([]string{"manifest", "systemd", "--vip", "10.0.0.1"}, args...)...)
		assert.Equal(t, exitUsage, code, args)
		assert.Empty(t, out)
		assert.Contains(t, errs, args[len(args)-1]+", want a path outside", args)
	}
	// A follower reads no check, and none of the members' keys.
	out, _ := manifest(t, "systemd", "--vip", "10.0.0.1", "--follower", "--spread", "direct", "--key-file", "/root/key", "--follow-key-file", "/etc/keepvip/follower.key")
	assert.Contains(t, out, "ProtectHome=yes\n")
}

// Whether a program looks at what it is told of is its own affair, so that is said and not refused.
func TestManifestSystemdNotesWhatProgramsWouldNotSee(t *testing.T) {
	file := writeAs(t, "c.yaml", unitWith("checks: [{name: x, kind: exec, command: [/bin/sh, '-c', 'test -e /tmp/up && grep -q 1 --file=/home/ann/list /etc/up'], user: nobody}], hooks: [{command: [/usr/bin/logger, /var/tmp/a, /tmpfs], user: root}]"))
	for _, args := range [][]string{{"cloud-init", "--systemd"}, {"kubeadmcontrolplane", "--systemd"}} {
		_, errs := manifest(t, append(args, "--config", file)...)
		assert.Contains(t, errs, "note: vips[0].checks[0] (x): the program does not see /tmp/up of this host in the unit (PrivateTmp)", args)
		assert.Contains(t, errs, "note: vips[0].checks[0] (x): the program does not see /home/ann/list of this host in the unit (ProtectHome)")
		assert.Contains(t, errs, "note: vips[0].hooks[0]: the program does not see /var/tmp/a of this host in the unit (PrivateTmp)")
		assert.Equal(t, 3, strings.Count(errs, "does not see"), errs)
	}
	_, errs := manifest(t, "cloud-init", "--systemd", "--config", writeAs(t, "c.yaml", unitWith(
		"checks: [{kind: file, path: /tmp/a}, {name: x, kind: exec, command: [/usr/bin/check, /tmp/b], user: nobody}]")))
	assert.NotContains(t, errs, "does not see", "the unit shares /tmp")
}
