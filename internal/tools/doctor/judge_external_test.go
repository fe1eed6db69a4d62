package doctor

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
)

func TestDoctorJudgesWhatIsExternal(t *testing.T) {
	vip, lb := netip.MustParseAddr("10.77.0.100"), netip.MustParseAddr("192.0.2.7")
	for name, tt := range map[string]struct {
		change func(*Facts)
		want   code.Code
		how    Severity
	}{
		"nothing":             {func(*Facts) {}, "", ""},
		"no name":             {func(f *Facts) { f.External[0].Resolves = nil }, code.ExternalUnanswered, Error},
		"nobody answers":      {func(f *Facts) { f.External[0].Err = errors.New("connection refused") }, code.ExternalUnanswered, Error},
		"another host has it": {func(f *Facts) { f.External[0].Claims = []Claim{{Address: vip, MAC: "02:00:00:00:00:07"}} }, code.ExternalStillHeld, Warning},
		"the balancer has it": {func(f *Facts) {
			f.External[0].Resolves = []netip.Addr{vip}
			f.External[0].Claims = []Claim{{Address: vip}}
		}, "", ""},
		"this host has it": {func(f *Facts) {
			f.Links[0].Addresses = append(f.Links[0].Addresses, link.Address{Prefix: netip.PrefixFrom(vip, 32)})
		}, code.ExternalStillHeld, Warning},
		"the file names it": {func(f *Facts) {
			f.Endpoints = []Endpoint{{File: "k", Key: "server", Host: "lb.example", Resolves: []netip.Addr{lb}}}
		}, "", ""},
		"the file names others": {func(f *Facts) {
			f.Endpoints = []Endpoint{{File: "k", Key: controlPlaneEndpoint, Host: "192.0.2.8", Address: netip.MustParseAddr("192.0.2.8")}}
		}, code.ControlPlaneEndpointDiffers, Warning},
	} {
		t.Run(name, func(t *testing.T) {
			f := good(t)
			v := f.VIPs[0]
			v.Mode, v.ExternalAddress, v.Addresses = config.ModeExternal, "lb.example:6443", []netip.Prefix{netip.PrefixFrom(vip, 32)}
			f.VIPs, f.Certificates, f.Endpoints = nil, nil, nil
			f.External = []External{{VIP: v, Resolves: []netip.Addr{lb}}}
			tt.change(&f)
			found := Judge(f)
			if tt.want == "" {
				assert.Empty(t, found)
				return
			}
			if assert.Len(t, found, 1) {
				assert.Equal(t, tt.want, found[0].Code)
				assert.Equal(t, tt.how, found[0].Severity)
			}
		})
	}
}
