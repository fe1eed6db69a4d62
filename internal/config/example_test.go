package config_test

import (
	"fmt"

	"github.com/keepvip/keepvip/internal/config"
)

// One address needs no file; the rest is the default or follows from it.
func ExampleLoad() {
	cfg, err := config.Load(config.Input{
		Flags: map[string][]string{"vip": {"10.77.0.100"}},
		Env:   []string{"KEEPVIP_VRID=51"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	v := cfg.VIPs[0]
	fmt.Println(v.Name, v.Addresses, v.VRRP.ID, v.VRRP.AdvertisementInterval)
	fmt.Println(cfg.Origin("vips[0].addresses"), cfg.Origin("vips[0].vrrp.id"), cfg.Origin("vips[0].priority"))
	// Output:
	// apiserver [10.77.0.100/32] 51 100ms
	// --vip KEEPVIP_VRID default
}

// A mistake is one line that names the place and the remedy.
func ExampleLoad_mistake() {
	_, err := config.Load(config.Input{Flags: map[string][]string{"vip": {"10.77.0.100"}, "vrid": {"256"}}})
	fmt.Println(err)
	// Output: config: --vrid: 256, want a number from 1 to 255
}
