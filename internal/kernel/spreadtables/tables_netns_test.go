//go:build netns

package spreadtables

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/netnstest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// nftList is what nft says of the tables of the calling test's namespace, without what changes by itself.
func nftList(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("nft", append([]string{"-s", "list"}, args...)...).CombinedOutput()
	require.NoError(t, err, "nft list %s: %s", args, out)
	return string(out)
}

// TestTablesAreListedByNft compares with what nft makes of what the kernel has.
func TestTablesAreListedByNft(t *testing.T) {
	onAnOlderKernel(t) // the rest is the same where tables are owned
	s := netnstest.New(t)
	s.Pair("eth0", s, "eth1")
	tables, err := Open("api", nil)
	require.NoError(t, err)
	require.NoError(t, tables.Apply(three(s.Index("eth0"))))
	assert.Equal(t, Abilities{Ingress: true, SecondChance: true, Sockets: true}, tables.Abilities())
	for _, family := range []string{"netdev", "ip", "ip6"} {
		golden, got := filepath.Join("testdata", family+".nft"), nftList(t, "table", family, "keepvip-spread-api")
		if *update {
			require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		assert.Equal(t, string(want), got)
	}
}
