package dump

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/tools/keepalived"
	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
)

// Each file in testdata was given to keepalived 2.2.7, and what its data file says is beside it. Those called made are made at random, of
// keywords and values that fit together and that do not; those called man have what its manual page tells of, by subject.
func TestModelIsWhatKeepalivedDumped(t *testing.T) {
	files, err := filepath.Glob("testdata/*.conf")
	require.NoError(t, err)
	require.Len(t, files, 25)
	for _, path := range files {
		cfg, err := keepalived.Read(path, "node", syntax.Disk{})
		require.NoError(t, err)
		text, err := os.ReadFile(strings.TrimSuffix(path, ".conf") + ".facts")
		require.NoError(t, err)
		got, want := Facts(cfg), strings.Split(strings.TrimSpace(string(text)), "\n")
		slices.Sort(got)
		slices.Sort(want)
		assert.Equal(t, want, got, path)
	}
}

// The same for global_defs, with as much of its data file as keepalived wrote about that.
func TestGlobalsAreWhatKeepalivedDumped(t *testing.T) {
	files, err := filepath.Glob("testdata/global/*.conf")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, path := range files {
		cfg, err := keepalived.Read(path, "vm", syntax.Disk{})
		require.NoError(t, err)
		text, err := os.ReadFile(strings.TrimSuffix(path, ".conf") + ".data")
		require.NoError(t, err)
		assert.ElementsMatch(t, ParseGlobal(string(text), "vm"), GlobalFacts(cfg), path)
	}
}

func TestParseReadsADataFile(t *testing.T) {
	got := Parse(`------< Global definitions >------
 Router ID = x
------< VRRP Topology >------
 VRRP Instance = VI_1
   VRRP Version = 2
   State = BACKUP
   Using src_ip = 10.9.0.1
   Multicast address 224.0.0.18
   Priority = 101
   Virtual IP (1):
     10.9.0.100 dev eth0 scope global set
   Tracked scripts :
     check weight -2
   Notify deleted = Fault
------< VRRP Sync groups >------
 VRRP Sync Group = G, BACKUP
   VRRP member instances :
     VI_1
------< VRRP Scripts >------
 VRRP Script = check
   Command = '/usr/bin/true' 'a b'
   Status = GOOD
   Tracking instances :
     VI_1, weight -2
------< Interfaces >------
 Name = eth0
   Priority = 7
`)
	assert.Equal(t, []string{
		"VI_1: VRRP Version = 2", "VI_1: Multicast address 224.0.0.18", "VI_1: Priority = 101", "VI_1: vip 10.9.0.100 dev eth0 scope global",
		"VI_1: script check weight -2", "VI_1: Notify deleted = Fault", "group G: member VI_1", "script check: Command = true 'a b'",
	}, got)
}
