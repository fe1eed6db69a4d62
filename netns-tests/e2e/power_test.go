//go:build e2e

package e2e

import (
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

// Nothing that keepvip needs is behind the address that it keeps.
func TestAllMachinesPoweredOffAndOn(t *testing.T) {
	c := formed(t)
	must(c.settle(4 * time.Minute))(t)
	c.forAll(t, (*machine).powerOff)
	c.forAll(t, (*machine).powerOn)

	healthy, answered := c.firsts(5 * time.Minute)
	require.NotZero(t, healthy, "no apiserver became ready: %s", c.describe())
	require.NotZero(t, answered, "the address does not answer: %s", c.describe())
	t.Logf("all machines off and on: first apiserver ready %v after the boot, the address answers %v later",
		healthy.Round(10*time.Millisecond), (answered - healthy).Round(time.Millisecond))
	assert.Less(t, answered-healthy, 5*time.Second)
	must(c.settle(4 * time.Minute))(t)
	c.podsReady(t)
}

// forAll does something with all machines at once.
func (c *cluster) forAll(t *testing.T, do func(*machine) error) {
	t.Helper()
	errs := make([]error, len(c.machines))
	var wait sync.WaitGroup
	for i, m := range c.machines {
		wait.Go(func() { errs[i] = do(m) })
	}
	wait.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
}

// firsts returns when, from now on, an apiserver was first ready at its machine's
// own address, and when one first was by way of the virtual address; zero for never.
func (c *cluster) firsts(limit time.Duration) (healthy, answered time.Duration) {
	began := time.Now()
	var mu sync.Mutex
	var wait sync.WaitGroup
	over := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return answered != 0 || time.Since(began) >= limit
	}
	poll := func(at netip.Addr, first *time.Duration) {
		for ; !over(); pause(20 * time.Millisecond) {
			sent := time.Since(began)
			_, err := c.lab.Ask(c.lab.Client.Namespace, at, "/readyz", time.Second)
			mu.Lock()
			if err == nil && *first == 0 {
				*first = sent
			}
			mu.Unlock()
		}
	}
	for _, m := range c.machines {
		wait.Go(func() { poll(m.Address, &healthy) })
	}
	wait.Go(func() { poll(lab.VIP4, &answered) })
	wait.Wait()
	return healthy, answered
}
