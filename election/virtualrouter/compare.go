package virtualrouter

import (
	"fmt"
	"time"

	"github.com/keepvip/keepvip/vrrp"
)

// odd is what is odd about an advertisement that counts nevertheless, or empty. While lists of addresses are being changed one node at a time they
// differ for a while; if that stays, the nodes hold different addresses.
func odd(r vrrp.Config, adv vrrp.Advertisement) string {
	longest := r.LongestInterval()
	switch {
	case !sameAddresses(adv.Addresses, r.Addresses):
		return fmt.Sprintf("advertises another list of addresses: %s, want %s", joinAddresses(adv.Addresses), joinAddresses(r.Addresses))
	case r.Version != 2 && adv.Interval > longest:
		return fmt.Sprintf("interval %v is longer than %v, which is adopted until it is heard again; if this is a router of yours, set vrrp.startupInterval to %v",
			adv.Interval, longest, adv.Interval)
	}
	return ""
}

// silence is after how long without an advertisement its sender is not taken for Active any more. What the router has not
// adopted does not count here either.
func silence(r vrrp.Config, s vrrp.Snapshot, a Arrival) time.Duration {
	interval := a.Advertisement.Interval
	if s.Followed != a.Source || s.ActiveAdverInterval < interval {
		interval = min(interval, r.LongestInterval())
	}
	n := r.DownTimerAdverts
	if n == 0 {
		n = 3
	}
	return time.Duration(n+1) * interval
}
