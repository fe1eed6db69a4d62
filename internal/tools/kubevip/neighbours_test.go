package kubevip

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// speaks converts a kube-vip that speaks BGP.
func speaks(t *testing.T, more ...string) *Result {
	t.Helper()
	r, err := Convert("f", []byte(pod(append([]string{"cp_enable=true", "vip_arp=false", "bgp_enable=true", "address=10.99.0.100,fd99::100"}, more...)...)), netip.Addr{})
	require.NoError(t, err)
	return r
}

// full has all that is read of BGP.
var full = []string{
	"bgp_as=65001", "bgp_routerid=10.77.0.11", "bgp_peers=10.77.0.254:65000:hunter2:true,[fd77::254]:65000,broken,10.77.0.253", "bgp_sourceip=10.77.0.11",
	"bgp_hold_time=30", "bgp_keepalive_interval=10",
}

func TestNeighboursAreTheRoutingDaemons(t *testing.T) {
	r := speaks(t, full...).Routers
	assert.Equal(t, `router id 10.77.0.11; # another one on each node
protocol device {}
protocol kernel keepvip4 { kernel table 198; learn; ipv4 { import where krt_source = 248; export none; }; }
protocol kernel keepvip6 { kernel table 198; learn; ipv6 { import where krt_source = 248; export none; }; }
protocol bgp uplink1 {
  local 10.77.0.11 as 65001;
  neighbor 10.77.0.254 as 65000;
  multihop;
  password "PASSWORD"; # that of kube-vip
  hold time 30;
  keepalive time 10;
  ipv4 { import none; export where krt_source = 248; next hop self; };
  ipv6 { import none; export where krt_source = 248; next hop self; };
}
protocol bgp uplink2 {
  local as 65001;
  neighbor fd77::254 as 65000;
  hold time 30;
  keepalive time 10;
  ipv4 { import none; export where krt_source = 248; next hop self; };
  ipv6 { import none; export where krt_source = 248; next hop self; };
}
`, r.BIRD)
	assert.Contains(t, r.FRR, "router bgp 65001\n bgp router-id 10.77.0.11\n no bgp ebgp-requires-policy\n neighbor 10.77.0.254 remote-as 65000\n")
	assert.Contains(t, r.FRR, " neighbor fd77::254 timers 10 30\n")
	assert.NotContains(t, r.BIRD+r.FRR, "hunter2")
}

func TestNeighbourOfTheOlderSettings(t *testing.T) {
	r := speaks(t, "bgp_peeraddress=10.77.0.254", "bgp_peeras=64512", "bgp_peerpass=hunter2").Routers
	assert.Contains(t, r.BIRD, "  local as 65000;\n  neighbor 10.77.0.254 as 64512;\n  password \"PASSWORD\"")
	assert.NotContains(t, r.BIRD+r.FRR, "hunter2")
}

func TestTableAndProtocolOfNeighbours(t *testing.T) {
	r := speaks(t, "bgp_peers=10.77.0.254:65000", "vip_routingtable=true", "vip_routingtableid=200", "vip_routingprotocol=201").Routers
	assert.Contains(t, r.BIRD, "kernel table 200; learn; ipv4 { import where krt_source = 201;")
}

func TestNoNeighbours(t *testing.T) {
	assert.Empty(t, speaks(t).Routers)
	assert.Empty(t, speaks(t, "bgp_peers=10.77.0.254,10.77.0.253:0,:65000,x:65000,fe80::1%eth0:65000").Routers)
	r, err := Convert("f", []byte(pod("cp_enable=true", "vip_arp=true", "bgp_enable=true", "address=10.77.0.100", "bgp_peers=10.77.0.254:65000")), netip.Addr{})
	require.NoError(t, err)
	assert.Empty(t, r.Routers, "beside ARP keepvip announces no route")
}

func FuzzNeighbour(f *testing.F) {
	for _, seed := range []string{"10.0.0.1:65000:pass:false", "[fd00::1]:65000", "[", ":", "[]:1", "10.0.0.1:99999999999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, ok := readNeighbour(text)
		if !ok {
			return
		}
		assert.True(t, n.address.IsValid() && n.as > 0)
		out := speaker{as: 65000, neighbours: []neighbour{n}}.bird("198", "248", true)
		assert.Equal(t, 1, strings.Count(out, "protocol bgp"), "nothing of the text gets further than its address")
	})
}
