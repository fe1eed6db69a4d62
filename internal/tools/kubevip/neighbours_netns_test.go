//go:build netns

package kubevip

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDaemonsTakeTheNeighbours: Debian's BIRD and FRR read the whole of what is printed.
func TestDaemonsTakeTheNeighbours(t *testing.T) {
	r := speaks(t, full...).Routers
	for text, check := range map[string][]string{
		r.BIRD: {"bird", "-p", "-c"},
		r.FRR:  {"vtysh", "-C", "-f"},
	} {
		path := filepath.Join(t.TempDir(), "conf")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		out, err := exec.Command(check[0], append(check[1:], path)...).CombinedOutput()
		assert.NoError(t, err, "%v: %s\n%s", check, out, text)
	}
}
