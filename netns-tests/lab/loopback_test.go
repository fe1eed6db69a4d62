package lab

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// loopback is a node, and a client, that are this machine itself.
func loopback(t *testing.T) *Node {
	t.Helper()
	space := &Namespace{Name: "test-c1", jobs: make(chan func())}
	go func() {
		for job := range space.jobs {
			job()
		}
	}()
	l := &Lab{epoch: time.Now()}
	t.Cleanup(func() {
		for _, end := range l.ends() {
			end()
		}
		close(space.jobs)
	})
	return &Node{Namespace: space, ID: 2, Label: "n2", Address: netip.MustParseAddr("127.0.0.1"), Addr6: netip.IPv6Loopback(), lab: l}
}

const loopbackPort = 17443

func TestWatches(t *testing.T) {
	n := loopback(t)
	server := must(n.StartWatchServer(loopbackPort))(t)
	target := netip.AddrPortFrom(n.Address, loopbackPort)
	w := must(n.lab.Watch(n.Namespace, WatchesConfig{Target: target, Clients: 2, Each: 3, Path: "/watch"}))(t)
	w.Await(5, 10*time.Second)
	assert.Equal(t, 2, w.Connections())
	assert.ElementsMatch(t, w.Stop().Own, unique(server.Audit()))
	r := w.Stop()
	assert.Equal(t, map[string]int{"n2": 6}, r.ByNode)
	assert.GreaterOrEqual(t, r.Events, 6*6)
	assert.Zero(t, r.Missed)
	assert.Empty(t, r.Restarts)

	w = must(n.lab.Watch(n.Namespace, WatchesConfig{Target: target, Clients: 1, Each: 2, Path: "/watch"}))(t)
	server.Close()
	require.Eventually(t, func() bool { w.mu.Lock(); defer w.mu.Unlock(); return len(w.report.Restarts) > 1 }, 10*time.Second, 10*time.Millisecond)
	assert.NotEmpty(t, w.Stop().Restarts, "watches that end are told of")
}

func unique(list []netip.AddrPort) (out []netip.AddrPort) {
	seen := map[netip.AddrPort]bool{}
	for _, a := range list {
		if !seen[a] {
			out = append(out, a)
		}
		seen[a] = true
	}
	return out
}

func TestTransfers(t *testing.T) {
	n := loopback(t)
	server := must(n.StartTransfers(GreeterConfig{Port: loopbackPort}))(t)
	c := must(n.lab.OpenTransfer(n.Namespace, netip.AddrPortFrom(n.Address, loopbackPort)))(t)
	defer c.Close()
	assert.Equal(t, "n2", c.Node)
	took := must(c.RoundTrips(100))(t)
	assert.Len(t, took, 100)
	assert.NotContains(t, took, time.Duration(0))
	for _, transfer := range []func(int) (time.Duration, error){c.Down, c.Up, c.Down} {
		used := must(transfer(10_000_000))(t)
		assert.Positive(t, used)
	}
	server.Close()
	_, err := c.Down(1)
	assert.Error(t, err)
}

func TestEventNumber(t *testing.T) {
	for line, want := range map[string]int{
		`{"object":{"data":{"n":"17"}}}`: 17, `{"object":{"data":{}}}`: -1, `{"n":"x"}`: -1, `{"n":"1`: -1, "": -1,
	} {
		assert.Equal(t, want, eventNumber([]byte(line)), line)
	}
}
