package spreadtables

import (
	"fmt"

	"github.com/google/nftables"
)

// ForwardDrops are the chains of packet filters that drop what they are not told to forward, as "ip filter FORWARD". What Masquerade translates
// passes them with the members' addresses and target ports.
func ForwardDrops() ([]string, error) {
	c, err := nftables.New()
	if err != nil {
		return nil, fmt.Errorf("spreadtables: list nftables chains: %w", err)
	}
	chains, err := c.ListChains()
	if err != nil {
		return nil, fmt.Errorf("spreadtables: list nftables chains: %w", err)
	}
	names := map[nftables.TableFamily]string{nftables.TableFamilyIPv4: "ip", nftables.TableFamilyIPv6: "ip6", nftables.TableFamilyINet: "inet"}
	var out []string
	for _, chain := range chains {
		family, known := names[chain.Table.Family]
		if known && chain.Hooknum != nil && *chain.Hooknum == *nftables.ChainHookForward && chain.Policy != nil && *chain.Policy == nftables.ChainPolicyDrop {
			out = append(out, family+" "+chain.Table.Name+" "+chain.Name)
		}
	}
	return out, nil
}
