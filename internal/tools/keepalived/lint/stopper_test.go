package lint

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Only what ends keepalived counts, and not what asks for it or reloads it.
func TestStopsKnowsWhatEndsKeepalived(t *testing.T) {
	for text, want := range map[string]bool{
		"/bin/systemctl stop keepalived":                          true,
		"systemctl --no-block stop keepalived.service":            true,
		"/usr/sbin/service keepalived stop":                       true,
		"/etc/init.d/keepalived stop":                             true,
		"/bin/sh -c 'pidof nginx || systemctl stop keepalived'":   true,
		"/bin/sh -c \"curl -f http://x || pkill keepalived\"":     true,
		"killall -9 keepalived":                                   true,
		"/bin/sh -c 'kill $(cat /var/run/keepalived.pid)'":        true,
		"/bin/sh -c 'kill -TERM `pidof keepalived`'":              true,
		"/usr/bin/killall -0 keepalived":                          false,
		"killall -HUP keepalived":                                 false,
		"systemctl is-active keepalived":                          false,
		"systemctl stop nginx":                                    false,
		"systemctl reload keepalived":                             false,
		"/etc/keepalived/stop.sh":                                 false,
		"/bin/sh -c 'systemctl stop nginx; logger -t keepalived'": false,
		"/bin/sh -c 'kill -HUP $(cat /run/keepalived.pid)'":       false,
		"": false,
	} {
		assert.Equal(t, want, stops(text), text)
	}
}
