package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestManifestsOfFollowers(t *testing.T) {
	spread := []string{"--follower", "--vip", "10.77.0.100", "--spread", "direct"}
	signed := append(spread, "--key-file", "/etc/keepvip/key", "--follow-key-file", "/etc/keepvip/follower.key")
	own := append(spread, "--follow-key-file", "/etc/keepvip/follower.key") // a configuration for followers alone
	for _, tt := range []struct {
		kind string
		args []string
		has  []string
		not  []string
	}{
		{"pod", spread, []string{"name: keepvip-follower", "- follow", "NET_BIND_SERVICE", "livenessProbe", "path: /readyz", "port: 9645"}, []string{"tier", "name: metrics"}},
		{"pod", signed, []string{"- follow", "path: /etc/keepvip"}, []string{"NET_BIND_SERVICE"}},
		{"daemonset", signed, []string{"name: keepvip-follower", "operator: DoesNotExist", "- follow"}, []string{"NET_BIND_SERVICE"}},
		{"systemd", spread, []string{" follow --", "ExecReload=/bin/kill -HUP $MAINPID", "CAP_NET_ADMIN CAP_NET_RAW CAP_NET_BIND_SERVICE\n"}, []string{" run "}},
		{"systemd", signed, []string{" follow --"}, []string{"CAP_NET_BIND_SERVICE"}},
		{"systemd", own, []string{" follow --"}, []string{"CAP_NET_BIND_SERVICE"}},
		{"daemonset", append(own, "--metrics", "off"), nil, []string{"livenessProbe"}},
		{
			"pod", append(own, "--metrics", "0.0.0.0:9700", "--metrics-token-file", "/etc/m/token", "--metrics-certificate", "/etc/m/tls.pem"),
			[]string{"name: metrics", "port: 9700", "path: /etc/m/token", "path: /etc/m/tls.pem"},
			nil,
		},
		{"pod", own, []string{"path: /etc/keepvip"}, []string{"NET_BIND_SERVICE"}},
	} {
		out, errs := manifest(t, append([]string{tt.kind}, tt.args...)...)
		for _, text := range tt.has {
			assert.Contains(t, out, text, "%s %v: %s", tt.kind, tt.args, errs)
		}
		for _, text := range tt.not {
			assert.NotContains(t, out, text, "%s %v", tt.kind, tt.args)
		}
	}
	for _, args := range [][]string{{"--follower", "--vip", "10.77.0.100"}, append(spread, "--key-file", "/etc/keepvip/key")} {
		for _, kind := range []string{"pod", "daemonset", "systemd"} {
			code, out, errs := keepvip(t, append([]string{"manifest", kind}, args...)...)
			assert.NotZero(t, code)
			assert.Empty(t, out)
			assert.Contains(t, errs, "--follower: ")
		}
	}
}
