package election

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestSpreadIsAlike(t *testing.T) {
	spread := func() *Spread {
		return &Spread{
			Fit: true, Every: time.Second, Weight: 1, MAC: [6]byte{2}, Other: netip.MustParseAddr("fd77::11"),
			Ports: []SpreadPort{{Protocol: 6, Port: 8443, Healthy: true, Connections: 7}},
		}
	}
	for name, tt := range map[string]struct {
		change func(*Spread)
		want   bool
	}{
		"nothing":       {func(*Spread) {}, true},
		"connections":   {func(s *Spread) { s.Ports[0].Connections++ }, true},
		"fit":           {func(s *Spread) { s.Fit = false }, false},
		"every":         {func(s *Spread) { s.Every++ }, false},
		"weight":        {func(s *Spread) { s.Weight = 0 }, false},
		"MAC":           {func(s *Spread) { s.MAC[5]++ }, false},
		"other address": {func(s *Spread) { s.Other = netip.Addr{} }, false},
		"serving":       {func(s *Spread) { s.Serves = netip.MustParseAddr("fd77::12") }, false},
		"health":        {func(s *Spread) { s.Ports[0].Healthy = false }, false},
		"no holder":     {func(s *Spread) { s.LacksHolder = true }, false},
		"a port more":   {func(s *Spread) { s.Ports = append(slices.Clone(s.Ports), SpreadPort{Protocol: 17, Port: 53}) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := spread(), spread()
			tt.change(b)
			assert.Equal(t, tt.want, a.Alike(b))
			assert.Equal(t, tt.want, b.Alike(a))
		})
	}
	assert.False(t, spread().Alike(nil))
	assert.False(t, (*Spread)(nil).Alike(spread()))
	assert.True(t, (*Spread)(nil).Alike(nil))
}
