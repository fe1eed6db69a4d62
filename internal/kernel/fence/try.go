package fence

import (
	"errors"
	"fmt"
	"math"
	"net"

	"github.com/google/nftables"
)

// tryTable is never there: it is made and deleted in one transaction.
const tryTable = "keepvip-try"

// Try asks the kernel whether a fence can be made on the link with that index. netdev is why none can be, and wraps [errNoNftables]; egress is why it would
// have no egress hook. Nothing is left of the question, and packets are not touched. It needs CAP_NET_ADMIN.
func Try(index int) (netdev, egress error) {
	ifi, err := net.InterfaceByIndex(index)
	if err != nil {
		return fmt.Errorf("fence: try: %w", errGone), nil
	}
	if err := tryHook(ifi.Name, nftables.ChainHookIngress); err != nil {
		return fmt.Errorf("fence: try: %w: %w", errNoNftables, err), nil
	}
	if err := tryHook(ifi.Name, nftables.ChainHookEgress); err != nil {
		return nil, fmt.Errorf("fence: try the egress hook: %w", err)
	}
	return nil, nil
}

// tryHook has the kernel hang an empty chain on the link, and take it off before anybody sees it.
func tryHook(device string, hook *nftables.ChainHook) error {
	c, err := nftables.New(nftables.AsLasting())
	if err != nil {
		return err
	}
	t := c.AddTable(&nftables.Table{Name: tryTable, Family: nftables.TableFamilyNetdev})
	c.AddChain(&nftables.Chain{
		Name: "try", Table: t, Type: nftables.ChainTypeFilter, Hooknum: hook, Priority: nftables.ChainPriorityRef(math.MaxInt32 - 1), Device: device,
	})
	c.DelTable(t)
	return errors.Join(c.Flush(), c.CloseLasting())
}
