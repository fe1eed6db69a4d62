//go:build netns

package netnstests

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

func TestBinarySize(t *testing.T) {
	info := must(os.Stat(must(trial.Binary())(t)))(t)
	t.Logf("%.2f MB", float64(info.Size())/1e6)
	assert.LessOrEqual(t, info.Size(), int64(24_000_000))
}

func TestQuietGroup(t *testing.T) {
	t.Parallel()
	g := open(t, trial.Config{API: true})
	m := must(g.Lab.Measure(lab.MeasureConfig{HTTPS: true}))(t)
	eventually(t, trial.SettleLimit, "the holder advertises", func() bool { return m.Advertiser() != 0 })
	at := m.Mark("nothing happens")
	settleFor(5 * time.Second)
	r := m.Stop()
	assert.LessOrEqual(t, r.Takeovers(lab.VIP4, at), 2*r.BySilence(at), "a takeover from a holder that advertised")
	reached(t, g)
	assert.LessOrEqual(t, weighs(t, g, (*lab.Process).Own), int64(8_000_000))
}

func TestTwoCapabilitiesSuffice(t *testing.T) {
	t.Parallel()
	g := open(t, trial.Config{Product: trial.Keepvip{Capabilities: []string{"net_admin", "net_raw"}}, Addresses: dualStack()})
	for _, n := range g.Lab.Nodes {
		status := must(os.ReadFile(fmt.Sprintf("/proc/%d/status", g.Daemon(n).PID())))(t)
		assert.Contains(t, strings.ReplaceAll(string(status), "\t", " "), "CapBnd: 0000000000003000")
	}
	measure(t, g, trial.NodeDeath)
	measure(t, g, trial.Terminated)
}
