package gather

import (
	"context"
	"net"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/arp"
	"github.com/keepvip/keepvip/internal/tools/doctor"
)

// askAgain is between two of the three questions that RFC 5227 (section 2.1.1) wants, of which one may be lost.
const askAgain = 400 * time.Millisecond

// askWho asks the link who has the virtual addresses, by probes that change nobody's cache, and notes who answers until ctx ends.
func askWho(ctx context.Context, ifi net.Interface, p place, n *notes) {
	var addrs []netip.Addr
	for _, v := range p.vips {
		if !v.HooksOnly { // whoever answers for those is as it should be
			addrs = append(addrs, v.Bare()...)
		}
	}
	addrs = addrs[:min(len(addrs), most)]
	conn, err := arp.Open(&ifi)
	if err != nil {
		return
	}
	defer conn.Close()
	l := arp.NewListener(&ifi, func(error) {})
	defer l.Close()
	defer l.Watch(addrs, func(c arp.Claim) {
		vrid, _ := c.VRID()
		n.claim(doctor.Claim{Address: c.Addr, MAC: c.MAC.String(), VRID: vrid})
	})()
	for range 3 {
		_ = conn.Probe(addrs...)
		select {
		case <-ctx.Done():
			return
		case <-time.After(askAgain):
		}
	}
	<-ctx.Done()
}
