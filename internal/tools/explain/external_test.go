package explain

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

func TestExternalAddressHasAnExplanationOfItsOwn(t *testing.T) {
	s := &instance.Status{
		Name: "apiserver", Addresses: []netip.Prefix{netip.MustParsePrefix("10.77.0.100/32")}, Mode: config.ModeExternal, Endpoint: "lb.example:6443",
		State: "initialize", Observed: instance.ObservedExternal, Desired: instance.Available, Eligible: true,
	}
	texts := func() (out []string) {
		for _, f := range Address(s, "n1", time.Now()) {
			out = append(out, f.Text)
		}
		return out
	}
	const first = "10.77.0.100 is external: clients connect to lb.example:6443, and no node holds it"
	assert.Equal(t, []string{first, "this node is fit to be sent connections by the balancer"}, texts())
	s.Desired, s.Eligible = instance.Drained, false
	assert.Equal(t, []string{first, "an operator has drained this node, so it tells the balancer to send it none"}, texts())
	s.Desired = instance.Held
	assert.Equal(t, []string{first, "an operator holds this node out, so it tells the balancer to send it none"}, texts())
}
