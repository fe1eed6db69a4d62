package vrrp_test

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/vrrp"
)

// A Machine is stepped with events and says what is to be done. Nothing here waits: time is data.
func ExampleMachine() {
	m, err := vrrp.NewMachine(vrrp.Config{
		Version: 3, VRID: 51, Priority: 100, Interval: 100 * time.Millisecond, Preempt: true,
		Source:    netip.MustParseAddr("10.77.0.11"),
		Addresses: []netip.Addr{netip.MustParseAddr("10.77.0.100")},
	})
	if err != nil {
		panic(err)
	}
	now := time.Now()
	for _, ev := range []vrrp.Event{vrrp.Startup{}, vrrp.Expired{}, vrrp.Shutdown{}} {
		for _, action := range m.Step(now, ev) {
			switch action := action.(type) {
			case vrrp.Send:
				fmt.Println("send priority", action.Advertisement.Priority)
			case vrrp.Change:
				fmt.Printf("%v: %s\n", action.To, action.Reason)
			}
		}
		if deadline, ok := m.Deadline(); ok {
			now = deadline
		}
	}
	// Output:
	// backup: started
	// send priority 100
	// active: no advertisement heard for the Active_Down_Interval
	// initialize: shut down
	// send priority 0
}

func ExampleParse() {
	source, group := netip.MustParseAddr("10.9.0.11"), netip.MustParseAddr("224.0.0.18")
	payload := []byte{0x31, 51, 100, 1, 0, 100, 0x75, 0x57, 10, 9, 0, 100}
	a, form, err := vrrp.Parse(payload, source, group)
	fmt.Println(a.VRID, a.Priority, a.Interval, a.Addresses, form, err)
	payload[2] = 255
	_, _, err = vrrp.Parse(payload, source, group)
	fmt.Println(err)
	// Output:
	// 51 100 1s [10.9.0.100] pseudo-header <nil>
	// vrrp: checksum 0x7557, want 0xda56
}
