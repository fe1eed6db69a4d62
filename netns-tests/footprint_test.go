//go:build netns

package netnstests

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

func TestStatus(t *testing.T) {
	t.Parallel()
	g := open(t, trial.Config{})
	var holder *lab.Node
	eventually(t, trial.SettleLimit, "all say who holds the address", func() bool {
		holder = settled(t, g)
		return !slices.ContainsFunc(g.Lab.Nodes, func(n *lab.Node) bool {
			s := statusOf(t, n)
			require.Len(t, s.VIPs, 1)
			v := s.VIPs[0]
			assert.Equal(t, []string{lab.VIP4.String() + "/32"}, v.Addresses)
			assert.Equal(t, n.NICs[0].Name, v.Interface)
			assert.NotEmpty(t, v.Reason)
			return v.State != map[bool]string{true: "active", false: "backup"}[n == holder] || v.Holder != holder.Address.String()
		})
	})
	p, code := mustTwo(trial.Keepvip{}.Command(holder, "status", "--socket", trial.Socket(holder)))(t)
	assert.Zero(t, code)
	assert.Contains(t, p.Stdout(), "active")
	assert.Equal(t, os.FileMode(0o660), must(os.Stat(trial.Socket(holder)))(t).Mode().Perm())
}
