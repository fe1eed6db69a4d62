//go:build e2e

package e2e

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What kube-vip's own end-to-end tests expect of a control plane, with bounds
// that are ours: they allow 20 s, and an answer of 500.

// A machine of a healthy cluster is deleted from it and killed.
func TestHolderDies(t *testing.T) {
	c := formed(t)
	s := c.watch(t, "power-off of the holder", 0, 10*time.Second, (*machine).powerOff)
	s.movedOnce(t)
	// One request in flight waits for its own timeout of a second.
	assert.LessOrEqual(t, s.longest(), 2500*time.Millisecond+s.stalled())
	require.NoError(t, s.holder.powerOn())
	must(c.settle(4 * time.Minute))(t)
}

// The apiserver's static pod is taken away for a while, as an upgrade does: the
// address leaves, and does not come back by itself among equals.
func TestAPIServerManifestRemoved(t *testing.T) {
	c := formed(t)
	var text []byte
	s := c.watch(t, "apiserver's manifest removed", 0, 8*time.Second, func(m *machine) (err error) {
		if text, err = os.ReadFile(m.file(apiserverPath)); err != nil {
			return err
		}
		return os.Remove(m.file(apiserverPath))
	})
	require.NotEmpty(t, text)
	require.NoError(t, os.WriteFile(s.holder.file(apiserverPath), text, 0o600))
	s.movedOnce(t)
	assert.LessOrEqual(t, s.longest(), 500*time.Millisecond+s.stalled())
	taker := c.holders()
	must(c.settle(4 * time.Minute))(t)
	assert.Equal(t, taker, c.holders(), "it came back to an equal")
}
