package lint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/tools/keepalived"
	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
)

// What keepalived logs and works with as the file means is a note; what it takes for something else stays an error. Line 4 has it.
func TestGradeIsByWhatKeepalivedMakesOfIt(t *testing.T) {
	const file = "vrrp_instance VI_1 {\n interface eth0\n virtual_router_id 9\n%s\n virtual_ipaddress {\n 10.0.0.1\n }\n}\n"
	for line, want := range map[string]keepalived.Severity{
		"state SLAVE":                     keepalived.Note,
		"state slave":                     keepalived.Note,
		"state master":                    keepalived.Fault, // MASTER without a priority is priority 255, and this is 100
		"priority 100,":                   keepalived.Note,
		"priority 150,":                   keepalived.Fault, // keepalived takes 100
		"garp_master_delay 10s":           keepalived.Note,
		"virtual_ipaddress_excluded {\n}": keepalived.Note,
		"advert_int .5":                   keepalived.Fault,
		"interface lo":                    keepalived.Fault,
	} {
		got := gradedAt(t, strings.Replace(file, "%s", line, 1), 4)
		assert.Equal(t, want, got, line)
	}
	assert.Equal(t, keepalived.Note, gradedAt(t, strings.Replace(file, "%s", "", 1)+"}\n", 9), "a brace too many")
}

func gradedAt(t *testing.T, text string, line int) (worst keepalived.Severity) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "k.conf")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	c, err := keepalived.Read(path, "", syntax.Disk{})
	require.NoError(t, err)
	for _, f := range Grade(c.Findings) {
		if f.Line == line {
			require.Empty(t, worst, "one finding for a line")
			worst = f.Severity
		}
	}
	return worst
}
