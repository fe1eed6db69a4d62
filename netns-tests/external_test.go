//go:build netns

package netnstests

import (
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// grace is for how long the last node serves the address after it has become external: clients learn of it within that time.
const grace = 3 * time.Second

func openBalanced(t *testing.T) *trial.Balanced {
	t.Helper()
	b := must(trial.OpenBalanced(host, calmInterval))(t)
	t.Cleanup(func() { finish(t, b.Group) })
	return b
}

// clients connect to where the running keepvip of a node says that the service is, and look at that all the time.
type clients struct {
	*lab.Followed
	at atomic.Pointer[netip.AddrPort]
}

func connecting(t *testing.T, b *trial.Balanced, to netip.AddrPort) *clients {
	t.Helper()
	c := &clients{}
	c.at.Store(&to)
	c.Followed = b.Lab.Request(b.Lab.Client, 10*time.Millisecond, func() netip.AddrPort { return *c.at.Load() })
	return c
}

// follow has the clients ask n, until it sends them there and they have been answered there.
func (c *clients) follow(t *testing.T, b *trial.Balanced, n *lab.Node, there netip.AddrPort) {
	t.Helper()
	eventually(t, 20*time.Second, "clients are sent to "+there.String(), func() bool {
		at := must(b.Endpoint(n))(t)
		c.at.Store(&at)
		return at == there
	})
	c.answered(t, there, 20)
}

// answered waits until so many more requests were answered there.
func (c *clients) answered(t *testing.T, there netip.AddrPort, more int) {
	t.Helper()
	before := c.Sum().By[there]
	eventually(t, 20*time.Second, "clients are answered at "+there.String(), func() bool { return c.Sum().By[there] >= before+more })
}

// unharmed says that no new connection was refused. A request that is under way while the address moves may be reset, as with any reload.
func unharmed(t *testing.T, sum lab.FollowedSum, moves int) {
	t.Helper()
	t.Logf("%d requests, by place %v, by node %v, %d reset, the longest took %v", sum.Made, sum.By, sum.Nodes, len(sum.Reset), sum.Longest)
	assert.Empty(t, sum.Refused, "new connections refused")
	assert.LessOrEqual(t, len(sum.Reset), moves, "%v", sum.Reset)
}

func held(t *testing.T, b *trial.Balanced) *lab.Node {
	t.Helper()
	eventually(t, 10*time.Second, "one node holds the address", func() bool {
		return len(b.Holders()) == 1 && b.Lab.Answers(b.Lab.Client.Namespace, b.Internal())
	})
	return b.Holders()[0]
}

func nowhere(t *testing.T, b *trial.Balanced) {
	t.Helper()
	eventually(t, grace+15*time.Second, "no node has the address", func() bool { return len(b.BoundAnywhere()) == 0 })
	for _, n := range b.Members {
		eventually(t, 10*time.Second, n.Label+" takes part in nothing", shows(n, func(v trial.VIPStatus) bool { return v.Observed == "external" && v.Priority == 0 }))
	}
}

func TestExternalInstall(t *testing.T) {
	t.Parallel()
	b := openBalanced(t)
	first := b.Members[0]
	before := must(first.State())(t)
	require.NoError(t, b.Install("external", grace))
	for _, n := range b.Members {
		eventually(t, 10*time.Second, "fit for a balancer", func() bool { code, _ := b.Healthz(n); return code == 200 })
	}
	require.NoError(t, b.Balance(false))
	assert.Equal(t, before, must(first.State())(t), "nothing is put onto the node")
	at := must(b.Endpoint(first))(t)
	assert.Equal(t, b.External(), at)
	nowhere(t, b)

	// The balancer takes a node out that is drained, before its apiserver goes.
	c := connecting(t, b, at)
	c.answered(t, at, 20)
	must(b.Say(first, "drain"))(t)
	code, text := b.Healthz(first)
	assert.Equal(t, 503, code)
	assert.Equal(t, "drained by an operator", text)
	eventually(t, 10*time.Second, "the balancer leaves it out", func() bool {
		was := c.Sum().Nodes[first.ID]
		c.answered(t, at, 30)
		return c.Sum().Nodes[first.ID] == was
	})
	require.NoError(t, first.API().Set(lab.APIRefuse, ""))
	c.answered(t, at, 20)
	require.NoError(t, first.API().Set(lab.APIHealthy, ""))
	must(b.Say(first, "resume"))(t)
	was := c.Sum().Nodes[first.ID]
	eventually(t, 10*time.Second, "the balancer takes it again", func() bool { return c.Sum().Nodes[first.ID] > was })
	unharmed(t, c.Stop(), 0)

	examine := func() string {
		p, _ := mustTwo(trial.Keepvip{}.Command(first, "doctor", "--listen", "1.5s", "--config", first.Path("keepvip.yaml"), "--socket", trial.Socket(first)))(t)
		return p.Log()
	}
	assert.NotContains(t, examine(), "external-")
	require.NoError(t, b.Proxy.Kill9())
	require.NoError(t, b.Members[1].AddAddress(hostPrefix(lab.VIP4)))
	eventually(t, 10*time.Second, "the balancer has ended", func() bool { return !b.Lab.Answers(b.Lab.Client.Namespace, b.External()) })
	found := examine()
	assert.Contains(t, found, "external-unanswered")
	assert.Contains(t, found, "external-still-held")
}

// A cluster whose clients come by way of a balancer gets keepvip, and the address is a name that changes.
func TestUpgradeOfARunningClusterToInternal(t *testing.T) {
	t.Parallel()
	b := openBalanced(t)
	require.NoError(t, b.Balance(true))
	c := connecting(t, b, b.External())
	require.NoError(t, b.Install("internal", grace))
	n := held(t, b)
	c.follow(t, b, n, b.Internal())
	require.NoError(t, b.Proxy.Kill9(), "the balancer is needed no more")
	c.answered(t, b.Internal(), 20)
	unharmed(t, c.Stop(), 0)
}

// With VRRP the cluster has an earlier configuration, which knows nothing of balancers.
func TestInternalToExternalToInternalUnderLoad(t *testing.T) {
	each(t, map[string]bool{"VRRP": false, "Raft": true}, func(t *testing.T, raft bool) {
		b := openBalanced(t)
		b.Raft = raft
		require.NoError(t, b.Install(map[bool]string{true: "internal", false: ""}[raft], grace))
		n := held(t, b)
		assert.Equal(t, b.Internal(), must(b.Endpoint(n))(t))
		c := connecting(t, b, b.Internal())
		if !raft {
			for _, n := range b.Members {
				code, _ := b.Healthz(n)
				assert.Zero(t, code, "nothing listens for balancers by default")
			}
			require.NoError(t, b.Change("internal", grace), "with the listener that the balancer asks")
		}
		require.NoError(t, b.Balance(false))
		last := b.Members[2] // whose view clients have is the last to change
		c.answered(t, b.Internal(), 20)

		require.NoError(t, b.Change("external", grace))
		c.follow(t, b, last, b.External())
		nowhere(t, b)
		require.NoError(t, b.Change("internal", grace))
		c.follow(t, b, last, b.Internal())
		held(t, b)

		// Somebody who thinks better of it within the time changes nothing but who comes last.
		require.NoError(t, b.Change("external", time.Hour))
		c.follow(t, b, last, b.External())
		require.NoError(t, b.Change("internal", grace))
		c.follow(t, b, last, b.Internal())
		held(t, b)
		unharmed(t, c.Stop(), 9)
	})
}

// What a killed process has left of an address that is external by now goes at the next start.
func TestExternalStartRemovesWhatAKilledRunHeld(t *testing.T) {
	t.Parallel()
	b := openBalanced(t)
	n := b.Members[0]
	before := must(n.State())(t)
	require.NoError(t, b.Install("internal", grace))
	holder := held(t, b)
	for _, m := range b.Members {
		if m != holder {
			require.NoError(t, b.Daemon(m).Kill9())
		}
	}
	eventually(t, trial.SettleLimit, "the last one has it", func() bool { return holder.Holds(lab.VIP4) })
	require.NoError(t, b.Daemon(holder).Kill9())
	require.True(t, holder.Holds(lab.VIP4), "the kernel has it")
	require.NoError(t, b.Install("external", grace))
	nowhere(t, b)
	assert.Equal(t, before, must(b.Members[0].State())(t))
}

// The external address is the virtual one: the node that goes on with it yields as soon as the balancer announces it.
func TestAddressThatGoesToTheBalancerIsYielded(t *testing.T) {
	t.Parallel()
	b := openBalanced(t)
	require.NoError(t, b.Install("internal", grace))
	held(t, b)
	require.NoError(t, b.Change("external", time.Hour))
	require.NotEmpty(t, b.BoundAnywhere(), "the last one goes on")
	began := time.Now()
	require.NoError(t, b.Balancer.AddAddress(hostPrefix(lab.VIP4)))
	require.NoError(t, b.Balancer.Announce(lab.VIP4))
	eventually(t, 20*time.Second, "no node has the address", func() bool { return len(b.BoundAnywhere()) == 0 })
	t.Logf("yielded after %v", time.Since(began))
}

// On the way back no node takes the address while the balancer has it, and one does when the balancer has given it up.
func TestAddressComesBackFromTheBalancer(t *testing.T) {
	t.Parallel()
	b := openBalanced(t)
	b.Same = true
	require.NoError(t, b.Install("external", grace))
	require.NoError(t, b.Balancer.AddAddress(hostPrefix(lab.VIP4)))
	require.NoError(t, b.Balancer.Announce(lab.VIP4))
	require.NoError(t, b.Balance(false))
	nowhere(t, b)
	c := connecting(t, b, b.Internal())
	c.answered(t, b.Internal(), 20)
	require.NoError(t, b.Change("internal", grace))
	eventually(t, 20*time.Second, "a node has found that somebody has the address", func() bool {
		return slices.ContainsFunc(b.Members, func(n *lab.Node) bool {
			return strings.Contains(must(b.Say(n, "explain"))(t), b.Balancer.NICs[0].MAC.String())
		})
	})
	c.answered(t, b.Internal(), 200)
	assert.Empty(t, b.BoundAnywhere(), "it is the balancer's yet")
	unharmed(t, c.Stop(), 0)

	began := time.Now()
	require.NoError(t, b.Proxy.Kill9())
	require.NoError(t, b.Balancer.RemoveAddress(hostPrefix(lab.VIP4)))
	eventually(t, time.Minute, "a node has the address", func() bool { return len(b.Holders()) == 1 })
	t.Logf("taken %v after the balancer gave it up", time.Since(began))
	assert.Equal(t, b.Internal(), must(b.Endpoint(held(t, b)))(t))
}
