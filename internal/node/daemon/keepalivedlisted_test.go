package daemon

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/node/report"
)

func TestKeepalivedReportListsAddressesAsTheyAre(t *testing.T) {
	first, second, six := netip.MustParsePrefix("10.77.0.100/24"), netip.MustParsePrefix("10.78.0.100/32"), netip.MustParsePrefix("fd78::100/64")
	v := config.VIP{Addresses: []netip.Prefix{six, first, second}, Scope: config.ScopeGlobal, Interface: "eth0"}
	assert.Nil(t, keepalivedListed(v))
	v.Labels, v.Elsewhere = []string{"", "eth1:1"}, []config.Elsewhere{{Address: six.Addr(), Interface: "eth1"}, {Address: second.Addr(), Interface: "eth1"}}
	assert.Equal(t, map[netip.Addr]report.Listed{second.Addr(): {Interface: "eth1", Label: "eth1:1"}, six.Addr(): {Interface: "eth1"}}, keepalivedListed(v))
	v.Scope = config.ScopeLink
	assert.Equal(t, report.Listed{Scope: "link"}, keepalivedListed(v)[first.Addr()])
	assert.Equal(t, report.Listed{Interface: "eth1"}, keepalivedListed(v)[six.Addr()], "an IPv6 address has no scope of its own")
}
