package daemon

import (
	"log/slog"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/check/health"
	"github.com/keepvip/keepvip/internal/config"
)

func TestEveryKindBecomesAChecker(t *testing.T) {
	in := config.Input{Elsewhere: true, Env: []string{config.EnvInline + `=apiVersion: keepvip/v1
kind: Config
vips:
- addresses: [10.0.0.1]
  priority: 100
  checks:
  - {kind: https, url: "https://registry.local/", ca: /ca, tokenFile: /t}
  - {kind: http, url: "http://127.0.0.1/"}
  - {kind: tcp, address: "127.0.0.1:1", weight: 20}
  - {kind: exec, command: [/bin/true], user: "65534"}
  - {kind: file, path: /x}
  - {kind: process, process: x}
  - {kind: interface, interface: lo, weight: -20}
  - {kind: gateway}
`}}
	cfg, err := config.Load(in)
	require.NoError(t, err)
	v := cfg.VIPs[0]
	var kinds []config.CheckKind
	for _, h := range v.Checks {
		kinds = append(kinds, h.Kind)
	}
	require.ElementsMatch(t, config.CheckKinds(), kinds)
	v.Checks[3].UID, v.Checks[3].GID = 65534, 65534
	near := func(config.VIP, netip.Addr) health.Neighbour { return nil }
	all, err := checkersOf(v, near, nil, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.Len(t, all, len(v.Checks))
	assert.Equal(t, uint8(120), topPriority(v))
	v.Checks[2].Weight = 7
	again, err := checkersOf(v, near, nil, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	assert.Equal(t, all[2].id, again[2].id, "another weight is the same check")
	v.Checks[2].Fall = 7
	again, err = checkersOf(v, near, nil, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	assert.NotEqual(t, all[2].id, again[2].id)
	assert.Equal(t, all[7].id, again[7].id)
	v.Interface = "eth1"
	again, err = checkersOf(v, near, nil, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	assert.NotEqual(t, all[7].id, again[7].id, "a router is asked from another place")
}
