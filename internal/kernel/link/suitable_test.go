package link

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSuitableRefusesWhatNoHostMayHave(t *testing.T) {
	eth0 := on(2, "eth0", "10.0.0.5/24", "10.1.0.2/31", "172.16.1.9/20", "ours 10.9.0.1/24", "fd00::5/64", "fd01::1/127", "fe80::1/64")
	tests := []struct {
		addr string
		want string
	}{
		{"10.0.0.0/32", "10.0.0.0 is the network address of 10.0.0.0/24 on eth0: choose one that a host can have"},
		{"10.0.0.255/32", "10.0.0.255 is the broadcast address of 10.0.0.0/24 on eth0: choose one that a host can have"},
		{"172.16.15.255/32", "172.16.15.255 is the broadcast address of 172.16.0.0/20 on eth0: choose one that a host can have"},
		{"fd00::/128", "fd00:: is the subnet-router anycast address, for which every router answers, of fd00::/64 on eth0: choose one that a host can have"},
		{addr: "10.0.0.100/32"},
		{addr: "172.16.1.255/32"},
		{addr: "10.0.1.255/32"}, // of another network
		{addr: "10.9.0.255/32"}, // of a virtual address's subnet, which is no sign of the network's
		{addr: "10.1.0.2/32"},   // RFC 3021
		{addr: "10.1.0.3/32"},
		{addr: "fd00::100/128"},
		{addr: "fd00::ffff:ffff:ffff:ffff/128"},
		{addr: "fd01::/128"}, // RFC 6164
	}
	for _, tt := range tests {
		t.Run(tt.addr, func(t *testing.T) {
			err := Suitable(eth0, netip.MustParsePrefix("10.0.0.99/32"), netip.MustParsePrefix(tt.addr))
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, errUnsuitable)
			assert.EqualError(t, err, errUnsuitable.Error()+": "+tt.want)
		})
	}
}

func TestNotOwnRefusesTheNodesAddress(t *testing.T) {
	lo := on(1, "lo", "127.0.0.1/8", "10.0.0.77/32")
	lo.Loopback = true
	tests := []struct {
		name  string
		have  []string
		addr  string
		owned bool
	}{
		{"its only one", []string{"10.0.0.5/24"}, "10.0.0.5", true},
		{"its only one, a host prefix as in some clouds", []string{"10.0.0.5/32"}, "10.0.0.5", true},
		{"beside one of another network", []string{"10.0.0.5/24", "192.168.0.5/24"}, "10.0.0.5", true},
		{"beside a secondary one", []string{"10.0.0.5/24", "secondary 10.0.0.6/24"}, "10.0.0.5", true},
		{"beside a virtual one", []string{"10.0.0.5/24", "10.0.0.9/24"}, "10.0.0.5", true},
		{"beside one of ours", []string{"10.0.0.5/24", "ours 10.0.0.8/24"}, "10.0.0.5", true},
		{"IPv6", []string{"fd00::5/64", "fe80::1/64"}, "fd00::5", true},
		{"IPv6 with a temporary one", []string{"fd00::5/64", "secondary fd00::a:b/64"}, "fd00::5", true},
		{"another", []string{"10.0.0.5/24"}, "10.0.0.100", false},
		{"ours of an earlier run", []string{"ours 10.0.0.5/24"}, "10.0.0.5", false},
		{"what another program has added", []string{"10.0.0.5/24", "10.0.0.100/32"}, "10.0.0.100", false},
		{"the same with the prefix length", []string{"10.0.0.5/24", "secondary 10.0.0.100/24"}, "10.0.0.100", false},
		{"the same of IPv6", []string{"fd00::5/64", "fd00::100/128"}, "fd00::100", false},
		{"on the loopback interface", []string{"10.0.0.5/24"}, "10.0.0.77", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := NotOwn([]Link{lo, on(2, "eth0", tt.have...)}, netip.MustParseAddr(tt.addr), []netip.Addr{netip.MustParseAddr("10.0.0.9")})
			if !tt.owned {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, errUnsuitable)
			assert.ErrorContains(t, err, errUnsuitable.Error()+": "+tt.addr+" is this node's own address on eth0: choose one that no host has")
		})
	}
}

// The first address of a subnet takes the others with it, where the kernel does not promote them: the node's own one must not go with a leftover.
func TestNotOwnSaysHowALeftoverGoesWithoutTheOwnAddress(t *testing.T) {
	err := NotOwn([]Link{on(2, "eth0", "10.0.0.100/24", "secondary 10.0.0.5/24")}, netip.MustParseAddr("10.0.0.100"), nil)
	assert.ErrorContains(t, err, "if another program has left it there, and 10.0.0.5 is the node's own: sysctl -w net.ipv4.conf.eth0.promote_secondaries=1 && ip address del 10.0.0.100/24 dev eth0")
	err = NotOwn([]Link{on(2, "eth0", "fd00::5/64", "secondary fd00::a:b/64")}, netip.MustParseAddr("fd00::5"), nil)
	assert.EqualError(t, err, errUnsuitable.Error()+": fd00::5 is this node's own address on eth0: choose one that no host has")
}
