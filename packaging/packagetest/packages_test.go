//go:build packages

package packagetest

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/packaging/release"
	"github.com/keepvip/keepvip/packaging/signing"
)

const (
	vip    = "10.0.0.100"
	config = "apiVersion: keepvip/v1\nkind: Config\nvips:\n- addresses: [" + vip + "]\n  check: none\n"
)

// made are the packages and images of two versions for this machine, by version and extension, and by version and name.
var made = sync.OnceValues(func() (map[string][]byte, error) {
	targets, err := release.SelectTargets("host")
	if err != nil {
		return nil, err
	}
	private, err := rsa.GenerateKey(rand.Reader, 3072)
	if err != nil {
		return nil, err
	}
	at := time.Unix(1700000000, 0)
	key, err := signing.New(private, at)
	if err != nil {
		return nil, err
	}
	all := map[string][]byte{}
	for _, v := range []release.Version{"0.1.0", "0.2.0"} {
		r := release.Release{Version: v, Time: at, Source: "../..", Targets: targets, Key: key}
		files, err := r.Make(context.Background(), []string{release.Packages, release.Image, release.Repositories})
		if err != nil {
			return nil, err
		}
		for name, data := range files {
			all[string(v)+filepath.Ext(name)], all[string(v)+"/"+name] = data, data
		}
	}
	return all, nil
})

func result(t *testing.T, name string) []byte {
	t.Helper()
	files, err := made()
	require.NoError(t, err)
	require.Contains(t, files, name)
	return files[name]
}

// manager is what the two kinds of packages have in common.
type manager struct {
	suffix                 string
	install, remove, purge []string
}

func managers() []manager {
	rpm := []string{"rpm", "--force-debian", "--nodeps"}
	return []manager{
		{".deb", []string{"dpkg", "-i"}, []string{"dpkg", "-r", "keepvip"}, []string{"dpkg", "-P", "keepvip"}},
		{".rpm", append(rpm, "-U"), append(rpm, "-e", "keepvip"), nil},
	}
}

func (m *machine) install(p manager, version string) string {
	m.t.Helper()
	path := "/tmp/package-" + version + p.suffix
	m.push(result(m.t, version+p.suffix), path)
	return m.must(append(p.install, path)...)
}

func TestPackageLife(t *testing.T) {
	for _, p := range managers() {
		t.Run(p.suffix[1:], func(t *testing.T) {
			m := boot(t)
			require.Empty(t, m.left(), "before")
			installed(t, m, p)
			runs(t, m)
			upgraded(t, m, p)
			removed(t, m, p)
			if p.purge != nil {
				purged(t, m, p)
			}
		})
	}
}

// readable asks the readers of completions and manual pages whether they understand them.
const readable = `
bash -n /usr/share/bash-completion/completions/keepvip
fish -n /usr/share/fish/vendor_completions.d/keepvip.fish
zsh -n /usr/share/zsh/*/_keepvip
for page in /usr/share/man/man[58]/keepvip*.gz; do mandoc -T lint -W warning "$page"; done
`

func installed(t *testing.T, m *machine, p manager) {
	m.install(p, "0.1.0")
	assert.Contains(t, m.must("keepvip", "version"), "keepvip v0.1.0 ")
	assert.Equal(t, "inactive", m.property("ActiveState"), "it has no configuration yet")
	assert.Equal(t, "disabled", m.property("UnitFileState"))
	m.must("keepvip", "config", "validate", "--config", "/etc/keepvip/keepvip.yaml.example")
	m.must("systemd-analyze", "verify", "keepvip.service")
	m.must("sh", "-ec", readable)
	assert.Equal(t, "750 root:root", strings.TrimSpace(m.must("stat", "-c", "%a %U:%G", "/etc/keepvip")))
}

func runs(t *testing.T, m *machine) {
	m.write("/etc/keepvip/keepvip.yaml", config)
	m.write("/var/lib/keepvip/state", "what must survive")
	m.must("systemctl", "enable", "--now", "keepvip")
	assert.Equal(t, "active", m.property("ActiveState"))
	m.eventually("the address is there", func() bool { return m.holds(vip) })
	m.eventually("the status is told", func() bool { return m.property("StatusText") == "apiserver active" })
	m.must("keepvip", "status")

	m.must("systemctl", "reload", "keepvip")
	m.write("/etc/keepvip/keepvip.yaml", config+"prio: 3\n")
	out, err := m.try("systemctl", "reload", "keepvip")
	assert.Error(t, err, "a configuration with an error: %s", out)
	assert.Equal(t, "active", m.property("ActiveState"))
	assert.True(t, m.holds(vip))
	m.write("/etc/keepvip/keepvip.yaml", config)

	frozen := m.property("MainPID")
	m.must("kill", "-STOP", frozen)
	m.eventually("the watchdog has started it anew", func() bool {
		pid := m.property("MainPID")
		return pid != frozen && pid != "0" && m.property("ActiveState") == "active"
	})
	m.eventually("the address is there again", func() bool { return m.holds(vip) })
}

func upgraded(t *testing.T, m *machine, p manager) {
	before := m.property("MainPID")
	m.install(p, "0.2.0")
	assert.NotEqual(t, before, m.property("MainPID"), "it was started anew")
	assert.Equal(t, "active", m.property("ActiveState"))
	assert.Equal(t, "enabled", m.property("UnitFileState"))
	m.eventually("the new one answers, and has begun", func() bool {
		out, err := m.try("keepvip", "status")
		return err == nil && strings.Contains(out, "keepvip v0.2.0")
	})
	assert.Equal(t, config, m.must("cat", "/etc/keepvip/keepvip.yaml"))
	m.eventually("the address is there", func() bool { return m.holds(vip) })
}

func removed(t *testing.T, m *machine, p manager) {
	// It dies, and leaves the address and the fence.
	m.write("/run/systemd/system/keepvip.service.d/die.conf", "[Service]\nRestart=no\n")
	m.must("systemctl", "daemon-reload")
	m.must("systemctl", "kill", "--signal=KILL", "keepvip")
	m.eventually("it is dead", func() bool { return m.property("ActiveState") == "failed" })
	held := m.holds(vip)
	out := m.must(p.remove...)
	if held {
		assert.Contains(t, out, "removed "+vip+"/32 from eth0")
	}
	assert.Contains(t, out, "removed the nftables table netdev ")
	assert.False(t, m.holds(vip))
	assert.NotContains(t, m.must("nft", "list", "tables"), "keepvip")
	m.must("rm", "-r", "/run/systemd/system/keepvip.service.d")

	assert.Equal(t, "not-found", m.property("LoadState"))
	_, err := m.try("pgrep", "keepvip")
	assert.Error(t, err, "no process is left")
	assert.False(t, m.exists("/run/keepvip"))
	assert.False(t, m.exists("/usr/bin/keepvip"))
	assert.True(t, m.exists("/etc/keepvip/keepvip.yaml"), "the administrator's")
	assert.True(t, m.exists("/var/lib/keepvip/state"))
	for _, path := range m.left() {
		switch {
		case strings.HasPrefix(path, "/etc/keepvip"), path == "/var/lib/keepvip", strings.HasPrefix(path, "/var/lib/dpkg/"):
		default:
			t.Errorf("%s is left", path)
		}
	}
}

func purged(t *testing.T, m *machine, p manager) {
	m.install(p, "0.2.0")
	const manifest = "/var/lib/rancher/rke2/agent/pod-manifests/keepvip.yaml"
	m.write(manifest, "volumes: [{name: state, hostPath: {path: /var/lib/keepvip}}]\n")
	m.must(p.purge...)
	assert.True(t, m.exists("/etc/keepvip/keepvip.yaml"), "the pod's")
	assert.True(t, m.exists("/var/lib/keepvip/state"), "the pod's")

	m.must("rm", manifest)
	m.install(p, "0.2.0")
	m.must(p.purge...)
	assert.Empty(t, m.left())
}
