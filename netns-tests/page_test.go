//go:build netns

package netnstests

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// browse shows the page of a node in a browser of its namespace, and returns what the browser has made of it once the node has answered. With
// KEEPVIP_PICTURES it leaves pictures there, wide and narrow, light and dark.
func browse(t *testing.T, n *lab.Node, name string) string {
	t.Helper()
	chromium := func(args ...string) string {
		out := must(n.Run("chromium", append([]string{
			"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars", "--user-data-dir=" + t.TempDir(),
			"--timeout=8000", "--virtual-time-budget=4000", "http://127.0.0.1:9645/",
		}, args...)...))(t)
		return out
	}
	if dir := os.Getenv("KEEPVIP_PICTURES"); dir != "" {
		for _, width := range []int{1280, 400} {
			for i, scheme := range []string{"dark", "light"} {
				chromium(fmt.Sprintf("--screenshot=%s/%s-%d-%s.png", dir, name, width, scheme), fmt.Sprintf("--window-size=%d,900", width),
					fmt.Sprintf("--blink-settings=preferredColorScheme=%d", i))
			}
		}
	}
	var dom string
	eventually(t, trial.SettleLimit, "the page is shown", func() bool {
		dom = chromium("--dump-dom")
		return strings.Contains(dom, `data-shown="yes"`)
	})
	return dom
}

// The page says what status says: who holds the address, the members, the moves, and after the death of a node what is wrong.
func TestPageShowsHolderMembersMovesAndWhatIsWrong(t *testing.T) {
	t.Parallel()
	g := open(t, trial.Config{Product: trial.Keepvip{Metrics: "127.0.0.1:9645"}})
	measure(t, g, trial.Verb("handover"))
	var (
		holder *lab.Node
		dom    string
	)
	eventually(t, trial.SettleLimit, "the page and the status of the holder name it, and nothing is wrong", func() bool {
		holder = settled(t, g)
		dom = browse(t, holder, "well")
		said := must(holder.Run("curl", "-sf", "http://127.0.0.1:9645/status"))(t)
		var status struct{ VIPs []struct{ Holder string } }
		require.NoError(t, json.Unmarshal([]byte(said), &status))
		return strings.Contains(dom, "Nothing is wrong") && strings.Contains(dom, holder.Address.String()+")</span>") && status.VIPs[0].Holder == holder.Address.String()
	})
	other := g.Others(holder)[0]
	for _, n := range g.Lab.Nodes {
		assert.Contains(t, dom, "<td data-of=\"address\">"+n.Address.String()+"</td>")
	}
	assert.Contains(t, dom, "asked by uid 0", "the handover is among the moves")

	require.NoError(t, g.Daemon(other).Kill9())
	eventually(t, 10*time.Second, "it is missed", func() bool {
		out, err := holder.Run("curl", "-sf", "http://127.0.0.1:9645/status")
		return err == nil && strings.Contains(out, `"silent"`)
	})
	dom = browse(t, holder, "wrong")
	assert.Regexp(t, `nothing is heard of \S+ \(`+regexp.QuoteMeta(other.Address.String())+`\)`, dom)
	assert.Contains(t, dom, "Remedy: ")
	assert.Contains(t, dom, `<p id="asked" role="status" class="bad">`)
}
