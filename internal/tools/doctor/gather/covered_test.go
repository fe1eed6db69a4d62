package gather

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

func TestServiceThatListensElsewhereIsKnown(t *testing.T) {
	list := func() ([]link.Listener, error) {
		return []link.Listener{{At: netip.MustParseAddrPort("10.77.0.11:6443")}, {At: netip.MustParseAddrPort("127.0.0.1:8404")}}, nil
	}
	vip := func(name, url string) config.VIP {
		return config.VIP{Name: name, Addresses: []netip.Prefix{netip.MustParsePrefix("10.77.0.100/32")}, Check: config.Check{URL: url}, Spread: config.Spread{Via: config.ViaOff}}
	}
	spread := vip("spread", "kubeadm")
	spread.Spread.Via = config.ViaDirect
	cfg := &config.Config{VIPs: []config.VIP{vip("apiserver", "kubeadm"), vip("stats", "http://127.0.0.1:8404/"), vip("none", "none"), spread}}
	const why = "nothing listens at 10.77.0.100:6443: the service listens at 10.77.0.11:6443 alone"
	assert.Equal(t, map[string]string{"apiserver": why}, uncovered(nil, cfg, list), "8404 may be for checks alone")
	running := &daemon{VIPs: []instance.Status{{Name: "apiserver"}, {Name: "other", Uncovered: "why"}}}
	assert.Equal(t, map[string]string{"other": "why"}, uncovered(running, cfg, list), "the holder has connected")
}
