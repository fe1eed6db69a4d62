package trial

import (
	"fmt"
	"strings"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// OpenBesideRuleSets opens a group on whose nodes others change the kernel's rule sets all the time.
func OpenBesideRuleSets(cfg Config) func(*lab.Host) (*Group, error) {
	return func(host *lab.Host) (_ *Group, err error) {
		defer try.Catch(&err)
		g := try.Get(Open(host, cfg))
		if err := changeRuleSets(g); err != nil {
			g.Close()
			return nil, err
		}
		return g, nil
	}
}

// changeRuleSets has each node load a large set of its own again and again.
func changeRuleSets(g *Group) (err error) {
	defer try.Catch(&err)
	var elements []string
	for i := range 40000 {
		elements = append(elements, fmt.Sprintf("10.%d.%d.1", i/250, i%250))
	}
	set := "table inet others\ndelete table inet others\ntable inet others { set s { type ipv4_addr; elements = { " + strings.Join(elements, ", ") + " } } }\n"
	for _, n := range g.Lab.Nodes {
		try.Get(n.Start("others", "sh", "-c", "while :; do nft -f "+try.Get(n.WriteFile("others.nft", set, 0o644))+"; done"))
	}
	return nil
}
