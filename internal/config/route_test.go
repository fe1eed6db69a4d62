package config

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLocalReleasesWhereNothingElseIsSaid: nodes that do not know each other cannot tell when all are unhealthy.
func TestLocalReleasesWhereNothingElseIsSaid(t *testing.T) {
	for text, want := range map[string]WhenAllUnhealthy{
		"vips:\n- addresses: [10.99.0.100]\n":                                                       Hold,
		"vips:\n- addresses: [10.99.0.100]\n  election: local\n":                                    Release,
		"vips:\n- addresses: [10.99.0.100]\n  election: local\n  check: {whenAllUnhealthy: hold}\n": Hold,
	} {
		c, err := Load(inFile(text))
		require.NoError(t, err, text)
		require.NoError(t, c.validate(), text)
		assert.Equal(t, want, c.VIPs[0].Check.WhenAllUnhealthy, text)
	}
	in := inFile("vips:\n- addresses: [10.99.0.100]\n  election: local\n  check: {whenAllUnhealthy: hold}\nport: 0\n")
	_, err := Load(in)
	require.ErrorContains(t, err, "vips[0].check.whenAllUnhealthy: hold with election local and port 0")
}

// TestLocalBeginsAnewWithAnotherWhenAllUnhealthy, because the nodes begin to talk to each other, or cease to.
func TestLocalBeginsAnewWithAnotherWhenAllUnhealthy(t *testing.T) {
	for _, election := range []string{"vrrp", "local"} {
		load := func(when string) *Config {
			c, err := Load(inFile("vips:\n- addresses: [10.99.0.100]\n  election: " + election + "\n  check: {whenAllUnhealthy: " + when + "}\n"))
			require.NoError(t, err)
			return c
		}
		d := Diff(load("hold"), load("release"))
		require.Len(t, d.Changed, 1)
		assert.Equal(t, election == "local", d.Changed[0].Recreate, election)
	}
}

// TestLocalSpreadsDirectly: routers choose a node, and that one sends on to the member that has the connection. Nobody could masquerade.
func TestLocalSpreadsDirectly(t *testing.T) {
	load := func(text string) (*Config, error) {
		c, err := Load(inFile("vips:\n- addresses: [10.99.0.100]\n  election: local\n" + text))
		if err == nil {
			err = c.validate()
		}
		return c, err
	}
	direct, err := load("  spread: direct\n")
	require.NoError(t, err)
	assert.True(t, direct.VIPs[0].LocalTalk())
	assert.Equal(t, Release, direct.VIPs[0].Check.WhenAllUnhealthy)
	off, err := load("")
	require.NoError(t, err)
	assert.False(t, off.VIPs[0].LocalTalk())
	d := Diff(off, direct)
	require.Len(t, d.Changed, 1)
	assert.True(t, d.Changed[0].Recreate)
	weighed, err := load("  spread: {via: direct, weight: 3}\n")
	require.NoError(t, err)
	assert.False(t, Diff(direct, weighed).Changed[0].Recreate)
	for text, want := range map[string]string{
		"  spread: masquerade\n":                                         "vips[0].spread.via: masquerade with election local, where no node holds the address",
		"  spread: direct\nport: 0\n":                                    "vips[0].spread.via: direct with port 0",
		"  spread: direct\n  vrrp: {peers: [10.77.0.12], minTTL: 254}\n": "vips[0].spread.via: direct with vrrp.minTTL 254",
	} {
		_, err := load(text)
		require.ErrorContains(t, err, want)
	}
}
