package vrrp

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMachineIgnoredAdvertisementTouchesNoTimer(t *testing.T) {
	change := func(f func(*Received)) Received {
		r := heard(above, 200)
		f(&r)
		return r
	}
	ignored := map[string]Received{
		"version 2":               change(func(r *Received) { r.Advertisement.Version = 2 }),
		"another VRID":            change(func(r *Received) { r.Advertisement.VRID = 52 }),
		"another family":          change(func(r *Received) { r.Source = addr("fe80::1") }),
		"interval 0":              change(func(r *Received) { r.Advertisement.Interval = 0 }),
		"our own, looped back":    change(func(r *Received) { r.Source = node1 }),
		"our own with priority 0": change(func(r *Received) { r.Source, r.Advertisement.Priority = node1, 0 }),
	}
	for name, r := range ignored {
		t.Run(name, func(t *testing.T) {
			scenario{steps: asBackup(step{time.Second, r, ""}), state: Backup, deadline: down}.run(t)
			scenario{steps: asActive(step{down + 300*ms, r, ""}), state: Active, deadline: down + time.Second}.run(t)
		})
	}
}

func TestMachineVersion2Password(t *testing.T) {
	withPassword := func(c *Config) { c.Version, c.AuthType, c.AuthData = 2, AuthPass, password("42") }
	from := func(auth uint8, pass string) Received {
		r := heard(above, 200)
		r.Advertisement.Version, r.Advertisement.AuthType, r.Advertisement.AuthData = 2, auth, password(pass)
		return r
	}
	runScenarios(t, []scenario{
		{
			name: "right", change: withPassword, steps: asBackup(step{time.Second, from(AuthPass, "42"), ""}),
			state: Backup, deadline: time.Second + down,
		},
		{
			name: "wrong", change: withPassword, steps: asBackup(step{time.Second, from(AuthPass, "43"), ""}),
			state: Backup, deadline: down,
		},
		{
			name: "missing", change: withPassword, steps: asBackup(step{time.Second, from(AuthNone, ""), ""}),
			state: Backup, deadline: down,
		},
		{
			name: "not configured", change: v2, steps: asBackup(step{time.Second, from(AuthPass, "42"), ""}),
			state: Backup, deadline: down,
		},
		{
			name: "none, with what receivers ignore", change: v2, steps: asBackup(step{time.Second, from(AuthNone, "42"), ""}),
			state: Backup, deadline: time.Second + down,
		},
	})
}

func TestConfigValidate(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"vrrp: version 4, want 2 or 3":                 func(c *Config) { c.Version = 4 },
		"vrrp: VRID 0, want 1 to 255":                  func(c *Config) { c.VRID = 0 },
		"vrrp: priority 0, want 1 to 255":              func(c *Config) { c.Priority = 0 },
		"vrrp: source invalid IP, want an IPv4":        func(c *Config) { c.Source = netip.Addr{} },
		"vrrp: address 10.9.0.100, want the family":    func(c *Config) { c.Source = addr("fe80::1") },
		"vrrp: version 2 over IPv6, want version 3":    func(c *Config) { c.Version, c.Source = 2, addr("fe80::1") },
		"vrrp: advertisement interval 0s, want 10ms":   func(c *Config) { c.Interval = 0 },
		"vrrp: preempt delay -1ns, want 0s to 16m40s":  func(c *Config) { c.PreemptDelay = -1 },
		"vrrp: startup delay 1h0m0s, want 0s to 16m40": func(c *Config) { c.StartupDelay = time.Hour },
		"vrrp: down timer adverts 101, want 1 to 100":  func(c *Config) { c.DownTimerAdverts = 101 },
		"vrrp: tick 501ms, want 0s to 500ms":           func(c *Config) { c.Tick = 501 * time.Millisecond },
		"vrrp: startup interval 1h0m0s, want 0s to 40": func(c *Config) { c.StartupInterval = time.Hour },
	} {
		c := base()
		change(&c)
		_, err := NewMachine(c)
		assert.ErrorContains(t, err, want)
	}
}

func TestConfigCheckNamesTheReason(t *testing.T) {
	v2PassConfig := base()
	v2PassConfig.Version, v2PassConfig.AuthType, v2PassConfig.AuthData = 2, AuthPass, password("42")
	ad := v2PassConfig.advertisement(100)
	with := func(f func(*Advertisement)) Advertisement {
		a := ad
		f(&a)
		return a
	}
	tests := []struct {
		give   Advertisement
		reason string
		want   string
	}{
		{with(func(a *Advertisement) { a.Version = 3 }), RejectVersion, "vrrp: version 3, want 2"},
		{with(func(a *Advertisement) { a.VRID = 9 }), RejectVRID, "vrrp: VRID 9, want 51"},
		{with(func(a *Advertisement) { a.Addresses = nil }), RejectCount, "vrrp: address count 0, want at least 1"},
		{with(func(a *Advertisement) { a.Interval = 3 * time.Second }), RejectInterval, "vrrp: advertisement interval 3s, want 1s"},
		{with(func(a *Advertisement) { a.AuthType = AuthNone }), RejectAuth, "vrrp: authentication type 0, want 1"},
		{with(func(a *Advertisement) { a.AuthData = password("43") }), RejectAuth, "vrrp: authentication data differ from the configured"},
	}
	for _, tt := range tests {
		err := v2PassConfig.Match(above, tt.give)
		var packet *PacketError
		require.ErrorAs(t, err, &packet, tt.want)
		assert.Equal(t, tt.reason, packet.Reason)
		assert.EqualError(t, err, tt.want)
	}
	assert.NoError(t, v2PassConfig.Match(above, ad))
	assert.EqualError(t, v2PassConfig.Match(addr("fe80::1"), ad), "vrrp: address family IPv6, want IPv4")
	for reason, want := range map[string]string{
		RejectTTL: "vrrp: TTL 64, want 255", RejectAddresses: "vrrp: none of the advertised addresses is ours",
	} {
		assert.EqualError(t, &PacketError{Reason: reason, Got: 64, Want: 255}, want)
	}
}
