package virtualrouter

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/vrrp"
)

// The state of a Virtual Router is converted by its number.
func TestStatesOfAVirtualRouterAreThoseOfAnElection(t *testing.T) {
	for _, s := range []vrrp.State{vrrp.Initialize, vrrp.Backup, vrrp.Active} {
		assert.Equal(t, s.String(), election.State(s).String())
	}
}
