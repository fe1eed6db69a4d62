package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	cryptorand "crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// junk makes a text that nobody has written: of random bytes, of a good file with changes, or of what parsers stumble over.
func junk(r *rand.Rand, good string) string {
	switch r.IntN(6) {
	case 0:
		b := make([]byte, r.IntN(4000))
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		return string(b)
	case 1:
		return good[:r.IntN(len(good))]
	case 2:
		b := []byte(good)
		for range 1 + r.IntN(20) {
			b[r.IntN(len(b))] = byte(r.IntN(256))
		}
		return string(b)
	case 3:
		return strings.Repeat([]string{"[", "{", "a: {", "- ", "*a ", "&a [*a, ", "\x00", "\x1b[2J", "{\n", "include x\n", "$A=$A\n$A\n"}[r.IntN(11)], 1+r.IntN(3000))
	case 4:
		lines := strings.SplitAfter(good, "\n")
		r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		return strings.Join(lines, "")
	}
	return good + good[r.IntN(len(good)):]
}

const goodKeepalived = `global_defs {
  router_id n1
}
vrrp_script chk {
  script "/usr/bin/killall -0 haproxy"
  interval 2
  weight -20
}
vrrp_instance VI_1 {
  state MASTER
  interface eth0
  virtual_router_id 51
  priority 101
  advert_int 1
  authentication {
    auth_type PASS
    auth_pass secret
  }
  virtual_ipaddress {
    10.0.0.100/24 dev eth0
  }
  track_script {
    chk
  }
}
`

const goodConfig = `apiVersion: keepvip/v1
kind: Config
vips:
- name: apiserver
  addresses: [10.77.0.100, "fd77::100"]
  priority: 100
  vrrp: {id: 51, version: 3, advertisementInterval: 100ms}
  checks:
  - {name: x, kind: https, url: "https://127.0.0.1:6443/readyz", insecure: true}
port: 9646
metrics: 127.0.0.1:9645
`

// junkFile is a file that a person can name, with a good one and the command that reads it. FILE in its arguments is the path.
type junkFile struct {
	good, file string
	args       string
	noted      bool // what is wrong with it is a warning: another program makes the file later
}

func junkFiles(t testing.TB) map[string]junkFile {
	kubeVIP, err := os.ReadFile(fixture("v1.0-pod.yaml"))
	require.NoError(t, err)
	const (
		validate  = "config validate --vip 10.0.0.100 --check none "
		cluster   = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\ncontrolPlaneEndpoint: 10.0.0.100:6443\n"
		template  = "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane\nmetadata: {name: a}\nspec:\n  kubeadmConfigSpec: {}\n"
		userData  = "#cloud-config\nwrite_files:\n- path: /etc/a\n  content: b\n"
		overRaft  = "--election raft --raft-peer 10.0.0.11 "
		exposed   = "--metrics 0.0.0.0:9645 "
		smallKeys = "0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f\n"
	)
	pair := goodPair(t)
	dir := t.TempDir()
	whole := filepath.Join(dir, "pair.pem")
	require.NoError(t, os.WriteFile(whole, []byte(pair), 0o600))
	source := filepath.Join(dir, "kube-vip.yaml")
	require.NoError(t, os.WriteFile(source, kubeVIP, 0o600))
	secret := filepath.Join(dir, "key")
	require.NoError(t, os.WriteFile(secret, []byte(smallKeys), 0o600))
	backends := filepath.Join(dir, "backends.yaml")
	require.NoError(t, os.WriteFile(backends, []byte("apiVersion: keepvip/v1\nkind: Config\nvips:\n- addresses: [10.0.0.100]\n  spread: {via: masquerade, ports: [{port: 6443}], backends: [{addresses: [10.0.0.1]}]}\n"), 0o600))
	return map[string]junkFile{
		"configuration":         {good: goodConfig, file: "keepvip.yaml", args: "config validate --config FILE"},
		"keepalived.conf":       {good: goodKeepalived, file: "keepalived.conf", args: "convert FILE"},
		"keepalived.conf, run":  {good: goodKeepalived, file: "keepalived.conf", args: "config validate --keepalived-conf FILE"},
		"kube-vip":              {good: string(kubeVIP), file: "kube-vip.yaml", args: "convert FILE"},
		"user data":             {good: userData, file: "user-data", args: "convert " + source + " --apply-to FILE"},
		"template":              {good: template, file: "cluster.yaml", args: "manifest kubeadmcontrolplane --vip 10.0.0.100 --template FILE"},
		"kubeadm":               {good: cluster, file: "kubeadm.yaml", args: "manifest pod --vip 10.0.0.100 --kubeadm-config FILE"},
		"--key-from":            {good: smallKeys, file: "key", args: "manifest cloud-init --vip 10.0.0.100 --key-file /etc/keepvip/key --key-from FILE"},
		"key fingerprint":       {good: smallKeys, file: "key", args: "key fingerprint FILE"},
		"key derive":            {good: smallKeys, file: "key", args: "key derive --for followers FILE"},
		"--key-file":            {good: smallKeys, file: "key", args: validate + "--key-file FILE"},
		"--key-accept":          {good: smallKeys, file: "key", args: validate + "--key-file " + secret + " --key-accept 2=FILE"},
		"--follow-key-file":     {good: smallKeys, file: "key", args: validate + "--follow-key-file FILE"},
		"--password-file":       {good: "secret\n", file: "password", args: validate + "--vrrp-version 2 --advertisement-interval 1s --password-file FILE"},
		"--raft-certificate":    {good: pair, file: "raft.pem", args: validate + overRaft + "--raft-certificate FILE --raft-private-key " + whole + " --raft-ca " + whole},
		"--raft-private-key":    {good: pair, file: "raft.key", args: validate + overRaft + "--raft-certificate " + whole + " --raft-private-key FILE --raft-ca " + whole},
		"--raft-ca":             {good: pair, file: "ca.pem", args: validate + overRaft + "--raft-certificate " + whole + " --raft-private-key " + whole + " --raft-ca FILE"},
		"--metrics-certificate": {good: pair, file: "metrics.pem", args: validate + exposed + "--metrics-certificate FILE --metrics-private-key " + whole},
		"--metrics-private-key": {good: pair, file: "metrics.key", args: validate + exposed + "--metrics-certificate " + whole + " --metrics-private-key FILE"},
		"--metrics-token-file":  {good: strings.Repeat("0f", 16), file: "token", args: validate + exposed + "--metrics-certificate " + whole + " --metrics-token-file FILE"},
		"--check-ca":            {good: pair, file: "ca.pem", args: "config validate --vip 10.0.0.100 --check-ca FILE", noted: true},
		"--backend-check-ca": {
			good: pair, file: "ca.pem", noted: true,
			args: "config validate --config " + backends + " --backend-check https://backend/readyz --backend-check-ca FILE",
		},
	}
}

// goodPair is a certificate with its key, as one file in PEM.
func goodPair(t testing.TB) string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), cryptorand.Reader)
	require.NoError(t, err)
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	cert, err := x509.CreateCertificate(cryptorand.Reader, ca, ca, key.Public(), key)
	require.NoError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})) + string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// command is the command line for a path.
func (j junkFile) command(path string) []string {
	return strings.Split(strings.ReplaceAll(j.args, "FILE", path), " ")
}

// refuses has keepvip read a text from the file, and tells whether it refused it: by an error that names the file, and nothing on standard output.
func (j junkFile) refuses(t *testing.T, dir, text string) bool {
	path := filepath.Join(dir, j.file)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	code, out, errs := keepvip(t, j.command(path)...)
	return j.judged(t, text, path, code, out, errs)
}

func (j junkFile) judged(t *testing.T, text, path string, code int, out, errs string) (refused bool) {
	assert.NotContains(t, errs, "\x1b", "%q", text)
	if code == exitOK {
		return j.noted && strings.Contains(errs, path)
	}
	assert.Contains(t, []int{exitFailure, exitUsage}, code, "%q\n%s", text, errs)
	assert.Empty(t, out, "%q", text)
	assert.Contains(t, errs, path, "%q", text)
	return true
}

// Every file that a person can name may hold anything: the answer is an error that names the file, and nothing on standard output.
func TestJunkInAFileIsAnErrorThatNamesIt(t *testing.T) {
	dir := t.TempDir()
	for name, tt := range junkFiles(t) {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, tt.file)
			require.NoError(t, os.WriteFile(path, []byte(tt.good), 0o600))
			code, _, errs := keepvip(t, tt.command(path)...)
			require.Equal(t, exitOK, code, "the good one: %s", errs)
			r := rand.New(rand.NewPCG(1, 2))
			refused := 0
			for range 12 { // `make fuzz` has more
				if tt.refuses(t, dir, junk(r, tt.good)) {
					refused++
				}
			}
			assert.Greater(t, refused, 3)
		})
	}
}

// Every flag that names a file is among those that are given junk.
func TestJunkIsInEveryFileThatAFlagNames(t *testing.T) {
	var all strings.Builder
	for _, j := range junkFiles(t) {
		all.WriteString(j.args + "\n")
	}
	// What they name is no file that is read: it is made, or a directory.
	made := []string{"socket", "state-dir", "keepalived-files", "notify-fifo"}
	cmd, _, err := rootFor([]string{"config", "validate"}).Find([]string{"config", "validate"})
	require.NoError(t, err)
	seen := 0
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if kind := f.Value.Type(); !strings.Contains(strings.ToLower(kind), "path") || slices.Contains(made, f.Name) {
			return
		}
		seen++
		assert.Regexp(t, "--"+f.Name+`( \d=| )FILE`, all.String())
	})
	assert.Greater(t, seen, 10)
}

// The same with whatever the fuzzer makes of the good files.
func FuzzJunkInAFile(f *testing.F) {
	files := junkFiles(f)
	for name, j := range files {
		f.Add(name, j.good)
		f.Add(name, junk(rand.New(rand.NewPCG(3, 4)), j.good))
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		if j, known := files[name]; known {
			j.refuses(t, t.TempDir(), text)
		}
	})
}

// No file is waited for, and none is read without end.
func TestDevicesAndPipesAreRefusedWhereAFileIsWanted(t *testing.T) {
	for _, args := range [][]string{
		{"config", "validate", "--config"},
		{"manifest", "pod", "--vip", "10.0.0.100", "--kubeadm-config"},
		{"manifest", "cloud-init", "--vip", "10.0.0.100", "--key-file", "/etc/keepvip/key", "--key-from"},
		{"convert"},
		{"lint"},
		{"config", "validate", "--vip", "10.0.0.100", "--key-file"},
	} {
		code, out, errs := keepvip(t, append(args, "/dev/zero")...)
		assert.Equal(t, exitUsage, code, "%v", args)
		assert.Empty(t, out, "%v", args)
		assert.Contains(t, errs, "/dev/zero", "%v", args)
	}
}
