package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

func TestEndpointIsPrintedForScripts(t *testing.T) {
	two := writeAs(t, "k.yaml", "apiVersion: keepvip/v1\nkind: Config\nvips:\n- {name: a, addresses: ['fd77::100']}\n- {name: b, addresses: [10.77.0.101], mode: external, externalAddress: lb}\n")
	status := sampleStatus(time.Now())
	status.VIPs = status.VIPs[:1]
	status.VIPs[0].Name, status.VIPs[0].Mode, status.VIPs[0].Endpoint = "a", config.ModeExternal, "lb:6443"
	socket := answering(t, status)
	for _, tt := range []struct {
		args       string
		code       int
		want, errs string
	}{
		{"--vip 10.77.0.100", exitOK, "10.77.0.100:6443\n", ""},
		{"--vip fd77::100", exitOK, "[fd77::100]:6443\n", ""},
		{"--mode external --external-address 192.0.2.7:7443", exitOK, "192.0.2.7:7443\n", ""},
		{"a --config " + two, exitOK, "[fd77::100]:6443\n", ""},
		{"b --config " + two, exitOK, "lb:6443\n", ""},
		{"--config " + two, exitUsage, "", "there are several virtual addresses (a, b), want the NAME of one"},
		{"c --config " + two, exitFailure, "", `no virtual address is named "c", there are: a, b`},
		{"--vip 10.77.0.100 --check none", exitFailure, "", "apiserver: no check names the port where clients connect; want the port in spread.ports or, with mode external, in externalAddress"},
		{"--mode external --vip 10.77.0.100", exitUsage, "", "missing with mode external"},
		{"--running --socket " + socket, exitOK, "lb:6443\n", ""},
		{"a --running --socket " + socket, exitOK, "lb:6443\n", ""},
		{"--running --vip 10.77.0.100", exitUsage, "", "--running and --vip are given, want one of the two"},
		{"--running --socket /none", exitFailure, "", "no keepvip answers at /none: there is no such socket; start keepvip, or name its socket by --socket"},
	} {
		code, out, errs := keepvip(t, append([]string{"endpoint"}, strings.Fields(tt.args)...)...)
		assert.Equal(t, tt.code, code, tt.args)
		assert.Equal(t, tt.want, out, tt.args)
		assert.Contains(t, errs, tt.errs, tt.args)
	}
	code, out, _ := keepvip(t, "endpoint", "--config", two, "-o", "json")
	require.Equal(t, exitOK, code)
	doc := printsObject(t, kindEndpoints, out)
	assert.Equal(t, []any{
		map[string]any{"name": "a", "mode": "internal", "endpoint": "[fd77::100]:6443"},
		map[string]any{"name": "b", "mode": "external", "endpoint": "lb:6443"},
	}, doc["vips"])
}

func TestStatusSaysThatAnAddressIsExternal(t *testing.T) {
	now := time.Now()
	d := sampleStatus(now)
	d.VIPs = d.VIPs[:1]
	v := &d.VIPs[0]
	v.Mode, v.Endpoint = config.ModeExternal, "lb:6443"
	assert.Contains(t, statusText(d, now), "EXTERNAL  clients connect to lb:6443\n  state ", "while it is left")
	v.Observed, v.Eligible, v.Unfit = instance.ObservedExternal, true, ""
	text := statusText(d, now)
	assert.Contains(t, text, "EXTERNAL  clients connect to lb:6443\n  desired   available\n  observed  external")
	for _, word := range []string{"fence", "holder", "members", "TAKER", "priority"} {
		assert.NotContains(t, text, word)
	}
	require.NoError(t, finding(d, now))
}
