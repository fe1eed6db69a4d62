package daemon

import (
	"log/slog"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/check/health"
	"github.com/keepvip/keepvip/internal/config"
)

func TestEntriesThatAskTheSameShareAProbe(t *testing.T) {
	apiserver := config.ListedCheck{Kind: config.CheckHTTPS, URL: "https://127.0.0.1:6443/readyz", Interval: time.Second, Fall: 3}
	entry := func(name, address string) config.VIP {
		return config.VIP{Name: name, Addresses: []netip.Prefix{netip.MustParsePrefix(address)}}
	}
	a, b := entry("a", "10.0.0.1/24"), entry("b", "10.0.0.2/24")
	same := func(change func(*config.ListedCheck)) bool {
		other := apiserver
		change(&other)
		return asks(a, apiserver) == asks(b, other)
	}
	assert.True(t, same(func(h *config.ListedCheck) {
		h.Name, h.Weight, h.Rise, h.Fall, h.InitFail, h.Counts = "x", 20, 5, 6, true, config.CountsPlain
	}), "what is made of the results is each entry's own")
	assert.False(t, same(func(h *config.ListedCheck) { h.Interval = 2 * time.Second }))
	assert.False(t, same(func(h *config.ListedCheck) { h.Reverse = true }))
	assert.False(t, same(func(h *config.ListedCheck) { h.URL += "?verbose" }))
	assert.False(t, same(func(h *config.ListedCheck) { h.Arguments = []string{} }), "no arguments are not any")
	program := config.ListedCheck{Kind: config.CheckExec, Command: []string{"/bin/check", "a b"}}
	other := program
	other.Command = []string{"/bin/check", "a", "b"}
	assert.NotEqual(t, asks(a, program), asks(b, other))
	gateway := config.ListedCheck{Kind: config.CheckGateway}
	assert.NotEqual(t, asks(a, gateway), asks(b, gateway), "each asks from a place of its own")
	number := config.ListedCheck{Kind: config.CheckFile, Path: "/x", Number: true, Weight: 1}
	wider := number
	wider.Weight = 2
	assert.NotEqual(t, asks(a, number), asks(b, wider))
}

func TestProbeIsForgottenWithItsChecks(t *testing.T) {
	shared, made := newProbings(), 0
	fresh := func() (*health.Probing, error) {
		made++
		return health.NewProbing(health.Func(nil), config.ListedCheck{Interval: time.Second, Timeout: time.Second, Rise: 2, Fall: 3}), nil
	}
	one, err := shared.of("x", fresh)
	require.NoError(t, err)
	c, err := one.Checker(config.ListedCheck{Interval: time.Second, Timeout: time.Second, Rise: 2, Fall: 3}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	runtime.GC()
	again, err := shared.of("x", fresh)
	require.NoError(t, err)
	assert.Same(t, one, again)
	runtime.KeepAlive(c)
	one, again = nil, nil
	runtime.GC()
	_, err = shared.of("y", fresh)
	require.NoError(t, err)
	assert.Equal(t, 2, made)
	assert.Len(t, shared.by, 1, "nobody has the first any more")
}
