package trial

import (
	"errors"
	"fmt"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// Gatewayed runs keepvip with one check: the router of the default route, which
// is the client, has to answer.
type Gatewayed struct{ Keepvip }

func (p Gatewayed) Start(n *lab.Node, s Settings) (_ *lab.Process, err error) {
	defer try.Catch(&err)
	router := n.Client()
	for _, via := range []string{router.Address.String(), router.Addr6.String()} {
		try.Get(n.Run("ip", "route", "replace", "default", "via", via))
	}
	file := fmt.Sprintf("apiVersion: keepvip/v1\nkind: Config\nvips:\n- addresses: [%s]\n  interface: %s\n  priority: %d\n"+
		"  vrrp: {advertisementInterval: %v}\n  checks: [{kind: gateway}]\n", quoted(s.Addresses), n.NICs[0].Name, s.Priority, s.Interval)
	return p.Run(n, "--config", try.Get(n.WriteFile("keepvip.yaml", file, 0o644)))
}

// routerTable drops what the router answers to the node.
const routerTable = `table netdev lab {
	chain in {
		type filter hook ingress device "%s" priority -10; policy accept;
		ether saddr %s arp operation reply drop
		ether saddr %s icmpv6 type nd-neighbor-advert drop
	}
}
`

// RouterLost keeps the answers of the router from the holder for a while.
func RouterLost(watch time.Duration) Fault {
	return func(g *Group) (*Result, error) {
		return g.whileItLasts(nodeFault{"router lost", func(n *lab.Node) error {
			mac := g.Lab.Client.MAC
			return try.Err(n.RunInput(fmt.Sprintf(routerTable, n.NICs[0].Name, mac, mac), "nft", "-f", "-"))
		}, func(n *lab.Node) error {
			_, err := n.Run("nft", "delete", "table", "netdev", "lab")
			return errors.Join(err, g.healthy())
		}}, lab.MeasureConfig{}, watch)
	}
}
