package daemon

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
)

// With the length of the node's subnet Linux would make its own address depend on the virtual one.
func TestAddressesOfIPv4AreBoundAlone(t *testing.T) {
	written := []netip.Prefix{
		netip.MustParsePrefix("10.77.0.100/24"), netip.MustParsePrefix("10.77.0.101/32"), netip.MustParsePrefix("fd77::100/64"), netip.MustParsePrefix("fd77::101/128"),
	}
	before := append([]netip.Prefix{}, written...)
	assert.Equal(t, []netip.Prefix{
		netip.MustParsePrefix("10.77.0.100/32"), netip.MustParsePrefix("10.77.0.101/32"), netip.MustParsePrefix("fd77::100/64"), netip.MustParsePrefix("fd77::101/128"),
	}, boundAs(written))
	assert.Equal(t, before, written, "what is written stays so")
}
