package config

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEntryOfHooksAloneStandsForItsVRID(t *testing.T) {
	load := func(more string) VIP {
		text := "apiVersion: keepvip/v1\nkind: Config\nvips:\n- hooksOnly: true\n  interface: eth0\n  vrrp: {id: 51" + more + "}\n"
		cfg, err := Load(Input{Env: []string{EnvInline + "=" + text}, Elsewhere: true})
		require.NoError(t, err)
		return cfg.VIPs[0]
	}
	v := load("")
	assert.Empty(t, v.Addresses)
	assert.Equal(t, "0.0.0.51", v.First().String())
	assert.Empty(t, v.Advertised(true))
	assert.Empty(t, v.HostPort(), "nobody knows where clients connect")
	assert.Equal(t, "::33", load(", peers: ['fd77::1', 'fd77::2']").First().String())

	for more, want := range map[string]string{
		"interface: eth0": "vips[0].vrrp.id: missing, and there is no address that it could come from; want 1 to 255, the same on all nodes",
		"vrrp: {id: 51}":  "vips[0].interface: missing, and there is no address to choose it by; want the interface where the other nodes are heard",
	} {
		_, err := Load(Input{Env: []string{EnvInline + "=apiVersion: keepvip/v1\nkind: Config\nvips:\n- {hooksOnly: true, " + more + "}\n"}, Elsewhere: true})
		assert.ErrorContains(t, err, want)
	}

	before, after := Config{VIPs: []VIP{v}}, Config{VIPs: []VIP{load(", peers: [10.77.0.1, 10.77.0.2]")}}
	after.VIPs[0].Addresses = []netip.Prefix{netip.MustParsePrefix("10.77.0.100/32")}
	changes := Diff(&before, &after)
	require.Len(t, changes.Changed, 1)
	assert.True(t, changes.Changed[0].Recreate, "members know the entry by another address")
}
