//go:build packages

package packagetest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A newcomer's walk: from the repository, as it lies in a directory, to a running service and back to nothing.
func TestFromTheRepositoryToNothingLeft(t *testing.T) {
	m := boot(t)
	require.Empty(t, m.left(), "before")
	files, err := made()
	require.NoError(t, err)
	for name, data := range files {
		if path, ok := strings.CutPrefix(name, "0.1.0/apt/"); ok {
			m.must("mkdir", "-p", "/srv/apt/"+path[:strings.LastIndexByte("/"+path, '/')])
			m.push(data, "/srv/apt/"+path)
		}
	}
	m.write("/srv/sources.list", "deb [signed-by=/srv/apt/keepvip-release.asc] file:/srv/apt stable main\n")
	apt := func(args ...string) []string {
		return append([]string{
			"apt-get", "-o", "Dir::Etc::sourcelist=/srv/sources.list", "-o", "Dir::Etc::sourceparts=-", "-o", "APT::Sandbox::User=root", "-y", "-q",
		}, args...)
	}
	m.must(apt("update")...)
	m.must(apt("install", "keepvip")...)
	assert.Contains(t, m.must("keepvip", "version"), "keepvip v0.1.0 ")
	assert.Contains(t, m.must("keepvip", "explain", "KV302"), "remedy:")
	for _, page := range []string{"README.md", "docs/install.md", "docs/pictures/failover.svg", "copyright"} {
		assert.True(t, m.exists("/usr/share/doc/keepvip/"+page), page)
	}
	assert.Contains(t, m.must("dpkg", "-s", "keepvip"), "Maintainer: keepvip maintainers <keepvip@users.noreply.github.com>\n")

	m.write("/etc/keepvip/keepvip.yaml", config)
	m.must("keepvip", "config", "validate", "--config", "/etc/keepvip/keepvip.yaml")
	m.must("systemctl", "enable", "--now", "keepvip")
	m.eventually("the address is there", func() bool { return m.holds(vip) })
	m.must("keepvip", "status")

	m.must(apt("purge", "keepvip")...)
	assert.False(t, m.holds(vip))
	m.must("rm", "-r", "/srv/apt", "/srv/sources.list")
	m.must(apt("clean")...)
	for _, path := range m.left() {
		if !strings.HasPrefix(path, "/var/lib/apt/") && !strings.HasPrefix(path, "/var/lib/dpkg/") && !strings.HasPrefix(path, "/var/lib/systemd/") {
			t.Errorf("%s is left", path)
		}
	}
}

// apt finds a package of which one byte was changed, and an index of which one was.
func TestAptRefusesWhatWasChanged(t *testing.T) {
	m := boot(t)
	files, err := made()
	require.NoError(t, err)
	m.write("/srv/sources.list", "deb [signed-by=/srv/apt/keepvip-release.asc] copy:/srv/apt stable main\n")
	apt := func(args ...string) []string {
		return append([]string{
			"apt-get", "-o", "Dir::Etc::sourcelist=/srv/sources.list", "-o", "Dir::Etc::sourceparts=-", "-o", "APT::Sandbox::User=root", "-y", "-q",
			"-o", "APT::Update::Error-Mode=any",
		}, args...)
	}
	lay := func(change string) {
		m.must("rm", "-rf", "/srv/apt", "/var/lib/apt/lists", "/var/cache/apt/archives")
		m.must("mkdir", "-p", "/var/lib/apt/lists/partial", "/var/cache/apt/archives/partial")
		for name, data := range files {
			path, ok := strings.CutPrefix(name, "0.1.0/apt/")
			if !ok {
				continue
			}
			if change != "" && strings.Contains(path, change) {
				data = append([]byte(nil), data...)
				data[len(data)/2] ^= 1
			}
			m.must("mkdir", "-p", "/srv/apt/"+path[:strings.LastIndexByte("/"+path, '/')])
			m.push(data, "/srv/apt/"+path)
		}
	}
	lay("")
	m.must(apt("update")...)
	m.must(apt("install", "--download-only", "keepvip")...)
	lay(".deb")
	m.must(apt("update")...)
	out, err := m.try(apt("install", "--download-only", "keepvip")...)
	assert.Error(t, err, out)
	for _, change := range []string{"InRelease", "Packages"} {
		lay(change)
		out, err := m.try(apt("update")...)
		assert.Error(t, err, "%s: %s", change, out)
	}
}
