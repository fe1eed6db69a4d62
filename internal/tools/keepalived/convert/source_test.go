package convert

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A host that does not have its unicast_src_ip yet waits for it, as keepalived does in state FAULT: another address would not be in the
// lists of its peers.
func TestConvertWaitsForTheSourceOfUnicast(t *testing.T) {
	for _, keyword := range []string{"unicast_src_ip", "mcast_src_ip"} {
		r := converted(t, "vrrp_instance a {\n interface eth0\n virtual_router_id 5\n "+keyword+" 10.0.0.2\n unicast_peer {\n 10.0.0.3\n }\n virtual_ipaddress {\n 10.0.0.9\n }\n}\n", Options{})
		cfg, err := load(r)
		require.NoError(t, err, shown(r))
		assert.Equal(t, "10.0.0.2", cfg.VIPs[0].VRRP.Source.String(), keyword)
		assert.Contains(t, string(r.Text), "source: 10.0.0.2  # k.conf:4")
	}
}
