package arp_test

import (
	"fmt"
	"time"

	"github.com/keepvip/keepvip/arp"
)

// The loop of a caller that has just bound its addresses: it announces whenever that is due, and sleeps in between.
func ExampleSchedule() {
	bound := time.Now()
	s := arp.NewSchedule(nil, 0, 0)
	s.Restart(bound)
	for range 7 {
		next, _ := s.Next() // sleep until then
		if s.Due(next) {
			fmt.Println("announce", next.Sub(bound)) // conn.Announce(addrs...)
		}
	}
	// Output:
	// announce 0s
	// announce 20ms
	// announce 100ms
	// announce 300ms
	// announce 700ms
	// announce 1.5s
	// announce 1m1.5s
}
