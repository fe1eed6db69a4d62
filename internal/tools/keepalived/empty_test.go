package keepalived

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Every row is what keepalived 2.2.7 does with an instance without virtual_ipaddress: it runs one by version 2 and IPv4, and no other.
func TestInstanceWithoutAnAddress(t *testing.T) {
	for body, want := range map[string]Severity{
		"notify_master /m\n":                           Note,
		"virtual_ipaddress_excluded {\n 10.9.0.7\n}\n": Note,
		"":                                Warning,
		"notify_master /m\nversion 3\n":   Fault,
		"notify_master /m\nstrict_mode\n": Fault,
		"notify_master /m\nunicast_src_ip fd00::1\nunicast_peer {\nfd00::2\n}\n": Fault,
	} {
		var got Severity
		for _, f := range model(t, head+body+"}\n").Findings {
			if f.Line == 1 {
				got = f.Severity
			}
		}
		assert.Equal(t, want, got, body)
	}
	group := "vrrp_sync_group G {\n group {\n P\n }\n notify /n\n}\n"
	for _, f := range model(t, head+"}\n"+group).Findings {
		assert.NotEqual(t, Warning, f.Severity, f.Text)
	}
}
