package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/internal/serve/service/dhcplease"
)

// bindingService answers decisions as it is told.
type bindingService struct {
	plainService
	answer error
}

func (b *bindingService) Apply(context.Context, election.Decision) error { return b.answer }

func TestLeasesAreKeptOfWhatIsBound(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		v := config.VIP{DHCP: config.DHCP{Lease: true}, Addresses: []netip.Prefix{netip.MustParsePrefix("10.77.0.100/32"), netip.MustParsePrefix("fd77::100/128")}}
		assert.Equal(t, []dhcplease.Wanted{{Address: netip.MustParseAddr("10.77.0.100"), ClientID: "keepvip-10.77.0.100"}}, leasesOf(v))
		assert.Empty(t, leasesOf(config.VIP{Addresses: v.Addresses}))

		log := slog.New(slog.DiscardHandler)
		open := func(instance.Place) (dhcplease.Socket, error) { return nil, errors.New("no link") }
		addresses := &bindingService{}
		s := &servedAddresses{addresses: addresses, host: plainHost{}, log: log, lease: dhcplease.New(leasesOf(v), open, log)}
		s.Begin(instance.Term{})
		for _, step := range []struct {
			role   election.Role
			answer error
			kept   bool
		}{
			{election.Serve, errors.New("not bound"), false},
			{election.Serve, nil, true},
			{election.Quiet, errors.New("nobody takes it"), true}, // nothing has changed
			{election.Quiet, nil, false},
			{election.Serve, nil, true},
			{election.Standby, errors.New("not removed"), false},
		} {
			addresses.answer = step.answer
			require.Equal(t, step.answer, s.Apply(t.Context(), election.Decision{Role: step.role}))
			synctest.Wait()
			assert.Equal(t, step.kept, len(s.Status().Leases) > 0, step)
		}
		require.Error(t, s.Close())
	})
}
