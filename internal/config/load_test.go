package config

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLoadFlagsDescribeOneVIP(t *testing.T) {
	c, err := Load(Input{Flags: map[string][]string{"vip": {"10.77.0.100", "fd77::100"}, "vrid": {"51"}, "check": {"none"}}})
	require.NoError(t, err)
	require.Len(t, c.VIPs, 1)
	v := c.VIPs[0]
	assert.Equal(t, "apiserver", v.Name)
	assert.Equal(t, []netip.Prefix{netip.MustParsePrefix("10.77.0.100/32"), netip.MustParsePrefix("fd77::100/128")}, v.Addresses)
	assert.Equal(t, VRRP{ID: 51, Version: 3, AdvertisementInterval: 100 * time.Millisecond, Preempt: true, Checksum: ChecksumPseudoHeader}, v.VRRP)
	assert.True(t, v.Check.None())
	assert.Equal(t, uint8(100), v.Priority)
	assert.Equal(t, "/run/keepvip/keepvip.sock", c.Socket)
	assert.Equal(t, "127.0.0.1:9645", c.Metrics)
}
