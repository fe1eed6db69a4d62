package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
  - {name: x, kind: https, url: "https://127.0.0.1:6443/readyz"}
port: 9646
metrics: 127.0.0.1:9645
`

// junkFile is a file that a person can name, with a good one and the command that reads it.
type junkFile struct {
	good, file string
	args       []string
}

func junkFiles(t testing.TB) map[string]junkFile {
	kubeVIP, err := os.ReadFile(fixture("v1.0-pod.yaml"))
	require.NoError(t, err)
	return map[string]junkFile{
		"configuration":   {goodConfig, "keepvip.yaml", []string{"config", "validate", "--config"}},
		"keepalived.conf": {goodKeepalived, "keepalived.conf", []string{"convert"}},
		"kube-vip":        {string(kubeVIP), "kube-vip.yaml", []string{"convert"}},
		"kubeadm":         {"apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\ncontrolPlaneEndpoint: 10.0.0.100:6443\n", "kubeadm.yaml", []string{"manifest", "pod", "--vip", "10.0.0.100", "--kubeadm-config"}},
		"key":             {strings.Repeat("0f", 32), "key", []string{"manifest", "cloud-init", "--vip", "10.0.0.100", "--key-file", "/etc/keepvip/key", "--key-from"}},
	}
}

// refuses has keepvip read a text from the file, and tells whether it refused it: by an error that names the file, and nothing on standard output.
func (j junkFile) refuses(t *testing.T, dir, text string) bool {
	path := filepath.Join(dir, j.file)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	code, out, errs := keepvip(t, append(slices.Clone(j.args), path)...)
	if code == exitOK {
		return false
	}
	assert.Equal(t, exitUsage, code, "%q", text)
	assert.Empty(t, out, "%q", text)
	assert.Contains(t, errs, path, "%q", text)
	assert.NotContains(t, errs, "\x1b", "%q", text)
	return true
}

// Every file that a person can name may hold anything: the answer is an error that names the file, and nothing on standard output.
func TestJunkInAFileIsAnErrorThatNamesIt(t *testing.T) {
	dir := t.TempDir()
	for name, tt := range junkFiles(t) {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			refused := 0
			for range 120 {
				if tt.refuses(t, dir, junk(r, tt.good)) {
					refused++
				}
			}
			assert.Greater(t, refused, 50)
		})
	}
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
