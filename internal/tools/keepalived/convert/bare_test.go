package convert

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An instance without an address is elected, and scripts are told; nothing is bound, whatever is in the file.
func TestConvertInstanceWithoutAnAddress(t *testing.T) {
	r := converted(t, "vrrp_instance VI_1 {\n interface eth0\n virtual_router_id 51\n notify_master \"/m MASTER\"\n}\n", Options{})
	assert.Zero(t, r.Refused, shown(r))
	cfg, err := load(r)
	require.NoError(t, err)
	v := cfg.VIPs[0]
	assert.True(t, v.HooksOnly)
	assert.Empty(t, v.Addresses)
	assert.Len(t, v.Hooks, 1)
	assert.NotContains(t, string(r.Text), "announce", "there is nothing to announce")

	r = converted(t, "vrrp_instance VI_1 {\n interface eth0\n virtual_router_id 51\n virtual_ipaddress_excluded {\n 10.0.0.7\n }\n}\n", Options{})
	assert.Zero(t, r.Refused, shown(r))
	cfg, err = load(r)
	require.NoError(t, err)
	assert.False(t, cfg.VIPs[0].HooksOnly, "the addresses that advertisements leave out are bound")
	assert.Empty(t, cfg.VIPs[0].Advertised(true))
}
