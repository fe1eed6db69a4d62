//go:build netns

package netnstests

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// A service that is gone and one that says nothing: which answers count as one is what the tests of internal/check/health say, what follows from it those of elections in
// virtual time, and the bench has all of them.
func TestUnhealthyAPIServerMovesTheAddress(t *testing.T) {
	each(t, map[string]trial.Fault{
		"killed":       trial.APIKilled,
		"stands still": trial.APIFrozen(5 * time.Second),
	}, func(t *testing.T, fault trial.Fault) {
		// A new group each time: a check that flaps is slow to believe in health again.
		res := counted(t, trial.Config{API: true}, fault)
		moved(t, 1, res)
		assert.Less(t, res.RSS, int64(32<<20), "memory at its most")
	})
}

func TestLostRouterMovesTheAddress(t *testing.T) {
	eachFamily(t, func(t *testing.T, vip netip.Addr) {
		res := counted(t, trial.Config{Product: trial.Gatewayed{}, Addresses: []netip.Addr{vip}}, trial.RouterLost(4*time.Second))
		moved(t, 1, res)
		assert.GreaterOrEqual(t, res.Seen, time.Duration(0), "keepvip has seen it")
	})
}

// ownAlone has each node ask a service that has the node's own address alone.
type ownAlone struct{ trial.Keepvip }

func (o ownAlone) Start(n *lab.Node, s trial.Settings) (*lab.Process, error) {
	s.API = true // it has a check
	o.Args = append(o.Args, "--check", "tcp://"+netip.AddrPortFrom(n.Address, 6443).String())
	return o.Keepvip.Start(n, s)
}

// A service that is bound to each node's own address refuses every client of the virtual one: status, explain and doctor name it, a drill is not ok, and
// nothing moves. As soon as one node's service listens everywhere, that node has the address.
func TestServiceThatDoesNotListenAtTheAddressIsNamed(t *testing.T) {
	t.Parallel()
	g := prepare(t, trial.Config{Product: ownAlone{}})
	greeters := map[*lab.Node]*lab.Greeter{}
	for _, n := range g.Lab.Nodes {
		greeters[n] = must(n.StartGreeter(lab.GreeterConfig{Port: 6443}))(t)
	}
	require.NoError(t, g.StartAll())
	settled(t, g)
	target := netip.AddrPortFrom(lab.VIP4, 6443)
	for _, n := range g.Lab.Nodes {
		require.True(t, eventually(t, 20*time.Second, "KV361 on "+n.Label, func() bool { return strings.Contains(printed(t, n, "explain"), "KV361") }))
	}
	stays(t, g, func() *lab.Node {
		var holder *lab.Node
		eventually(t, 20*time.Second, "the status of the holder says so", func() bool {
			holder = settled(t, g)
			return tells(holder, fmt.Sprintf("UNSERVED  nothing listens at %s: the service listens at %s:6443 and [%s]:6443 alone [KV361]", target, holder.Address, holder.Addr6))()
		})
		assert.Contains(t, printed(t, holder, "doctor", "--vip", lab.VIP4.String(), "--check", "tcp://"+netip.AddrPortFrom(holder.Address, 6443).String()), "KV361")
		settleFor(6 * time.Second) // longer than a node takes to look again, and no node is better
		return holder
	})
	holder := settled(t, g)
	p, status := mustTwo(trial.Keepvip{}.Command(holder, "drill", "apiserver", "-o", "json", "--socket", trial.Socket(holder)))(t)
	assert.Equal(t, 1, status, p.Log())
	assert.Contains(t, p.Stdout(), `"result": "unserved"`)
	assert.Contains(t, p.Log(), "KV362")
	holder = settled(t, g) // the drill has moved it

	better := g.Lab.Nodes[holder.ID%3]
	greeters[better].Close()
	must(better.StartGreeter(lab.GreeterConfig{Port: 6443, Everywhere: true}))(t)
	require.True(t, eventually(t, 20*time.Second, "the address is where the service listens", func() bool { return holds(g, better) }), g.Logs())
	got := must(g.Lab.Sample(g.Lab.Client.Namespace, target, 60))(t)
	assert.Equal(t, map[string]int{better.Label: 60}, got.ByNode, got.String())
	assert.NotContains(t, printed(t, better, "status"), "UNSERVED")
}
