package trial

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// addressEvents counts the address events that a holder's host has by the renewals of lifetimes, as whoever listens to rtnetlink is told them.
func addressEvents(host *lab.Host) (_ Findings, err error) {
	defer try.Catch(&err)
	var out Findings
	for _, c := range []struct {
		addresses int
		most      float64 // of one address in a minute: a lifetime of 4 s is renewed every third of it, one of a minute three times
	}{{1, 46}, {16, 46}, {230, 5}} {
		got := try.Get(addressEventsOf(host, c.addresses, time.Minute))
		out = append(out, Measured{What: fmt.Sprintf("events of each of %d addresses", c.addresses), Got: got, Limit: c.most, Unit: "a minute"})
	}
	return out, nil
}

func addressEventsOf(host *lab.Host, addresses int, length time.Duration) (perMinute float64, err error) {
	defer try.Catch(&err)
	var all []netip.Addr
	for last := byte(15); len(all) < addresses; last++ {
		if last != 200 && last != 201 { // those hosts are there
			all = append(all, netip.AddrFrom4([4]byte{10, 77, 0, last}))
		}
	}
	g := try.Get(Open(host, Config{Lab: lab.Config{Nodes: 1}, Addresses: all}))
	defer g.Close()
	time.Sleep(3 * time.Second) // past the start
	monitor := try.Get(g.Lab.Nodes[0].Start("ip-monitor", "ip", "-o", "-4", "monitor", "address"))
	time.Sleep(length)
	try.Do(monitor.Kill9())
	seen := 0
	for line := range strings.Lines(monitor.Stdout()) {
		seen += count(strings.Contains(line, " inet ") && !strings.Contains(line, "Deleted"))
	}
	return float64(seen) / float64(addresses) / length.Minutes(), nil
}
