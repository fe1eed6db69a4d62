package main

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/node/daemon"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/internal/tools/explain"
)

func TestStatusSaysWhatADHCPServerSays(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	l := instance.LeaseStatus{
		Address: netip.MustParseAddr("10.0.0.50"), ClientID: "keepvip-10.0.0.50", Server: netip.MustParseAddr("10.0.0.1"),
		Renewed: now.Add(-3 * time.Minute), Expires: now.Add(57 * time.Minute),
	}
	refused := l
	refused.Problem, refused.Code = "no DHCP server answers", code.LeaseUnanswered
	endless, fresh := l, instance.LeaseStatus{Address: l.Address, ClientID: l.ClientID}
	endless.Expires = time.Time{}
	for want, l := range map[string]instance.LeaseStatus{
		"  dhcp      10.0.0.50 as keepvip-10.0.0.50: leased by 10.0.0.1, renewed 3m0s ago, for another 57m0s\n": l,
		"  DHCP      10.0.0.50 as keepvip-10.0.0.50: no DHCP server answers [KV255]\n":                          refused,
		"  dhcp      10.0.0.50 as keepvip-10.0.0.50: leased by 10.0.0.1, renewed 3m0s ago, for ever\n":          endless,
		"  dhcp      10.0.0.50 as keepvip-10.0.0.50: asked for, no answer yet\n":                                fresh,
	} {
		v := instance.Status{State: "active", Leases: []instance.LeaseStatus{l}}
		assert.Contains(t, statusText(daemon.Status{VIPs: []instance.Status{v}}, now), want)
		said := slices.ContainsFunc(explain.Address(&v, "n1", now), func(f explain.Fact) bool { return f.Code == code.LeaseUnanswered })
		assert.Equal(t, l.Problem != "", said, "explain has what is wrong")
		if l == refused || !l.Expires.IsZero() {
			assert.Contains(t, pages(t)["dhcp.md"], want, "as docs/dhcp.md shows it")
		}
	}
}
