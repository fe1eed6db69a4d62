package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLoadNotesWhatChecksWouldNotFindHere(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "text"), []byte("text"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "empty"), []byte("\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "read-by-group"), []byte("token"), 0o640))
	file := filepath.Join(dir, "keepvip.yaml")
	text := strings.ReplaceAll(`apiVersion: keepvip/v1
kind: Config
vips:
- name: a
  addresses: [10.77.0.100]
  interface: none-such
  check: {url: "https://127.0.0.1:6443/readyz", ca: DIR/none}
- name: b
  addresses: [10.77.0.101]
  checks:
  - {name: x, kind: https, url: "https://127.0.0.1/", ca: DIR/text, tokenFile: DIR/empty, clientCert: DIR/text}
  - {name: y, kind: interface, interface: none-such}
  - {name: z, kind: https, url: "https://127.0.0.1/", ca: DIR/text, tokenFile: DIR/read-by-group}
- name: c
  addresses: [10.77.0.102]
  spread:
    via: masquerade
    ports: [{port: 6443}]
    backendCheck: {url: "https://backend/readyz", ca: DIR/none}
    backends: [{addresses: [10.0.0.1]}, {addresses: [10.0.0.2]}, {addresses: [10.0.0.3], check: {ca: DIR/text}}]
`, "DIR", dir)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	c, err := Load(Input{File: file})
	require.NoError(t, err, "kubeadm init may make the files later")
	notes := strings.ReplaceAll(strings.Join(c.Warnings, "\n"), dir, "DIR")
	for _, want := range []string{
		"vips[0].interface: there is no interface none-such here now",
		"vips[0].check.ca: DIR/none: no such file; the check fails until that has changed",
		"vips[1].checks[0].ca: DIR/text: no certificate in it, want PEM; the check",
		"vips[1].checks[0].tokenFile: DIR/empty: empty, want a bearer token; the check",
		"vips[1].checks[0].clientCert: certificate DIR/text with key DIR/text: tls: failed to find any PEM data",
		"vips[2].spread.backendCheck.ca: DIR/none: no such file; the check",
		"vips[2].spread.backends[2].check.ca: DIR/text: no certificate in it, want PEM; the check",
		"vips[1].checks[2].tokenFile: DIR/read-by-group: mode 0640, want 0600: chmod 600 DIR/read-by-group",
		"vips[1].checks[1].interface: there is no interface none-such here now",
	} {
		assert.Equal(t, 1, strings.Count(notes, want), want)
	}
	c, err = Load(Input{File: file, Elsewhere: true})
	require.NoError(t, err)
	assert.Empty(t, c.Warnings, "of another machine nothing is known")
}

func TestLoadReadsTheCertificatesOfRaft(t *testing.T) {
	dir := t.TempDir()
	in := Input{Flags: map[string][]string{
		"vip": {"10.77.0.100"}, "election": {"raft"}, "raft-peer": {"10.77.0.11"},
		"raft-certificate": {dir + "/c"}, "raft-private-key": {dir + "/k"}, "raft-ca": {dir + "/ca"},
	}}
	_, err := Load(in)
	assert.EqualError(t, err, "config: --raft-certificate: "+dir+"/c: no such file\nconfig: --raft-ca: "+dir+"/ca: no such file")
	in.Elsewhere = true
	_, err = Load(in)
	assert.NoError(t, err)
}

func TestPrivateKeysThatOthersMayReadAreRefused(t *testing.T) {
	key := filepath.Join(t.TempDir(), "k")
	require.NoError(t, os.WriteFile(key, []byte("key"), 0o640))
	remedy := key + ": mode 0640, want 0600: chmod 600 " + key
	for _, tt := range []struct {
		flags map[string][]string
		want  string
	}{
		{map[string][]string{"election": {"raft"}, "raft-peer": {"10.77.0.11"}, "raft-certificate": {"/c"}, "raft-private-key": {key}, "raft-ca": {"/ca"}}, "--raft-certificate: " + remedy},
		{map[string][]string{"metrics": {"0.0.0.0:9645"}, "metrics-certificate": {"/c"}, "metrics-private-key": {key}}, "--metrics-certificate: " + remedy},
		{map[string][]string{"spread": {"direct"}, "follow-key-file": {key}}, "--follow-key-file: key file " + remedy},
	} {
		tt.flags["vip"] = []string{"10.77.0.100"}
		_, err := Load(Input{Flags: tt.flags})
		assert.ErrorContains(t, err, tt.want)
	}
}

func TestSpreadThatTakesAnybodysWordIsNoted(t *testing.T) {
	for flags, noted := range map[string]bool{"direct": true, "off": false} {
		c, err := Load(Input{Flags: map[string][]string{"vip": {"10.77.0.100"}, "spread": {flags}}})
		require.NoError(t, err)
		assert.Equal(t, noted, strings.Contains(strings.Join(c.Warnings, "\n"), "spread without key.file and without spread.members"), flags)
	}
}

func TestLoadRefusesCredentialsThatEveryUserMayRead(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"private": 0o600, "public": 0o644, "writable": 0o602} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), mode))
		require.NoError(t, os.Chmod(filepath.Join(dir, name), mode))
	}
	for fields, want := range map[string]string{
		"clientCert: DIR/public, clientKey: DIR/private": "",
		"clientCert: DIR/private, clientKey: DIR/public": "clientKey: DIR/public: every user may read it: mode 0644, want 0600: chmod 600 DIR/public",
		"clientCert: DIR/public":                         "clientKey: DIR/public: every user may read it: mode 0644",
		"tokenFile: DIR/public":                          "tokenFile: DIR/public: every user may read it: mode 0644",
		"tokenFile: DIR/writable":                        "tokenFile: DIR/writable: every user may read it: mode 0602",
		"tokenFile: DIR/none-yet":                        "",
	} {
		text := "apiVersion: keepvip/v1\nkind: Config\nvips:\n- addresses: [10.77.0.100]\n  checks:\n  - {name: x, kind: https, url: 'https://127.0.0.1/', ca: DIR/private, " + fields + "}\n"
		file := filepath.Join(dir, "keepvip.yaml")
		require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(text, "DIR", dir)), 0o600))
		_, err := Load(Input{File: file})
		if want == "" {
			assert.NoError(t, err, fields)
			continue
		}
		assert.ErrorContains(t, err, file+":6: vips[0].checks[0]."+strings.ReplaceAll(want, "DIR", dir), fields)
		_, err = Load(Input{File: file, Elsewhere: true})
		assert.NoError(t, err, "of another machine nothing is known: %s", fields)
	}
}
