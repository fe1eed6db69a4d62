//go:build netns

package netnstests

import (
	"encoding/json"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// browse shows the page of a node in a browser of its namespace, and returns what the browser has made of it. With KEEPVIP_PICTURES the pictures are
// kept there.
func browse(t *testing.T, n *lab.Node, name string, width int, dark bool) string {
	t.Helper()
	dir := os.Getenv("KEEPVIP_PICTURES")
	if dir == "" {
		dir = t.TempDir()
	}
	scheme := "1"
	if dark {
		scheme = "0"
	}
	picture := filepath.Join(dir, fmt.Sprintf("%s-%d-%s.png", name, width, map[bool]string{true: "dark", false: "light"}[dark]))
	args := func(what ...string) []string {
		return append([]string{
			"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars", "--user-data-dir=" + t.TempDir(),
			"--blink-settings=preferredColorScheme=" + scheme, fmt.Sprintf("--window-size=%d,900", width), "--timeout=8000", "--virtual-time-budget=4000",
		}, append(what, "http://127.0.0.1:9645/")...)
	}
	_, err := n.Run("chromium", args("--screenshot="+picture)...)
	require.NoError(t, err)
	f, err := os.Open(picture)
	require.NoError(t, err)
	defer f.Close()
	shot, err := png.DecodeConfig(f)
	require.NoError(t, err)
	assert.Equal(t, width, shot.Width)
	dom, err := n.Run("chromium", args("--dump-dom")...)
	require.NoError(t, err)
	return dom
}

// The page says what status says: who holds the address, the members, the moves, and after the death of a node what is wrong.
func TestPageShowsHolderMembersMovesAndWhatIsWrong(t *testing.T) {
	t.Parallel()
	g := open(t, trial.Config{Product: trial.Keepvip{Metrics: "127.0.0.1:9645"}})
	settled(t, g)
	measure(t, g, trial.Verb("handover"))
	holder := settled(t, g)
	var other *lab.Node
	for _, n := range g.Lab.Nodes {
		if n != holder {
			other = n
		}
	}
	dom := browse(t, holder, "well", 1280, false)
	assert.Contains(t, dom, `data-shown="yes"`)
	assert.Contains(t, dom, "Nothing is wrong")
	assert.Contains(t, dom, holder.Address.String()+")</span>", "the holder, by its name and address")
	for _, n := range g.Lab.Nodes {
		assert.Contains(t, dom, "<td data-of=\"address\">"+n.Address.String()+"</td>")
	}
	assert.Contains(t, dom, "asked by uid 0", "the handover is among the moves")
	said, err := holder.Run("curl", "-sf", "http://127.0.0.1:9645/status")
	require.NoError(t, err)
	var status struct {
		VIPs []struct{ Holder string }
	}
	require.NoError(t, json.Unmarshal([]byte(said), &status))
	assert.Equal(t, holder.Address.String(), status.VIPs[0].Holder)

	require.NoError(t, g.Daemon(other).Kill9())
	eventually(t, 10*time.Second, "it is missed", func() bool {
		out, err := holder.Run("curl", "-sf", "http://127.0.0.1:9645/status")
		return err == nil && strings.Contains(out, `"silent"`)
	})
	for _, width := range []int{1280, 400} {
		for _, dark := range []bool{false, true} {
			dom := browse(t, holder, "wrong", width, dark)
			assert.Regexp(t, `nothing is heard of \S+ \(`+regexp.QuoteMeta(other.Address.String())+`\)`, dom)
			assert.Contains(t, dom, "Remedy: ")
			assert.Contains(t, dom, `<p id="asked" role="status" class="bad">`)
		}
	}
}
