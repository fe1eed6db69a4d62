//go:build packages

package packagetest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A unit that `keepvip manifest systemd` prints starts where none of the directories is there that keepvip writes.
func TestUnitOfTheManifestMakesItsDirectories(t *testing.T) {
	m := boot(t)
	m.install(managers()[0], "0.1.0")
	m.write("/etc/keepvip/keepvip.yaml", config+"stateDir: /srv/keepvip/state\nkeepalivedFiles: /var/log/keepvip/files\n")
	m.must("sh", "-ec", "keepvip manifest systemd --config /etc/keepvip/keepvip.yaml >/etc/systemd/system/keepvip.service")
	m.must("systemctl", "daemon-reload")
	m.must("systemctl", "start", "keepvip")
	m.eventually("the address is there", func() bool { return m.holds(vip) })
	m.must("sh", "-c", "keepvip drain; test $? = 3") // nobody else could take the address
	for _, dir := range []string{"/srv/keepvip/state", "/var/log/keepvip/files"} {
		assert.Equal(t, "750 root:root", strings.TrimSpace(m.must("stat", "-c", "%a %U:%G", dir)))
	}
	assert.True(t, m.exists("/srv/keepvip/state/holds.json") || m.exists("/srv/keepvip/state/history.log"), "the unit may write there")
	m.must("systemctl", "restart", "keepvip")
	m.eventually("the address is there again", func() bool { return m.holds(vip) })
}
