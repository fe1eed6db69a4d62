package main

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/daemon"
	"github.com/keepvip/keepvip/internal/instance"
)

func TestStatusSaysSplitAndSilent(t *testing.T) {
	now := time.Now()
	heard := now.Add(-3 * time.Minute)
	a := netip.MustParseAddr("10.0.0.12")
	d := daemon.Status{VIPs: []instance.Status{{
		Name:    "apiserver",
		Splits:  []election.Split{{Address: a, Node: "cp-2", Since: now.Add(-5 * time.Second), Both: true, Cause: "VRID 5 there, 6 here", Remedy: "set vrrp.id"}},
		Members: []instance.MemberStatus{{Address: a, Node: "cp-2", State: "silent", Was: "active", Priority: 100, LastHeard: &heard}},
	}}}
	text := statusText(d, now)
	assert.Contains(t, text, "SPLIT     cp-2 10.0.0.12 holds the address, and none of its advertisements has arrived here for 5s; this node holds it, too: VRID 5 there, 6 here; set vrrp.id")
	assert.Contains(t, text, "cp-2 10.0.0.12 silent for 3m0s, was active, priority 100")
	assert.NotContains(t, text, "ago")
	var code codedError
	require.ErrorAs(t, splitError(d), &code)
	assert.Equal(t, exitSplit, code.code)
	assert.NoError(t, splitError(daemon.Status{VIPs: []instance.Status{{Name: "apiserver"}}}))
}
