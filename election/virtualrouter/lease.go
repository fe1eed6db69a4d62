package virtualrouter

import (
	"time"

	"github.com/keepvip/keepvip/vrrp"
)

// jiffy is the coarsest step in which a kernel counts timeouts (CONFIG_HZ=100).
const jiffy = 10 * time.Millisecond

// Lease is how long an Active may answer for the address after an advertisement has left: less than the
// Active_Down_Interval of every other router, so that it ends before another may begin. Only an address
// owner (priority 255), whose Skew_Time is close to zero, comes as near as the jiffy that is taken off.
func Lease(cfg vrrp.Config) time.Duration {
	n := cfg.DownTimerAdverts
	if n == 0 {
		n = 3
	}
	return time.Duration(n)*cfg.Interval - jiffy
}
