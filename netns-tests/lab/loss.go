package lab

import "fmt"

// Direction of frames as seen from the node.
type Direction int

// Directions of loss.
const (
	Both Direction = iota
	In             // towards the node
	Out            // from the node
)

// Lose makes the switch drop percent of the node's frames that match an
// nftables expression, for example "ip protocol 112", at random. It replaces
// an earlier loss at this node; [Node.LoseNothing] ends it.
//
// The rules are in the switch, so the node's own ruleset stays untouched.
func (n *Node) Lose(match string, percent int, direction Direction) error {
	random := ""
	if percent < 100 {
		random = fmt.Sprintf("numgen random mod 100 < %d ", percent)
	}
	rules := ""
	for _, nic := range n.NICs {
		if direction != In {
			rules += fmt.Sprintf("iifname %q %s %scounter drop\n", nic.Port, match, random)
		}
		if direction != Out {
			rules += fmt.Sprintf("oifname %q %s %scounter drop\n", nic.Port, match, random)
		}
	}
	table := "loss-" + n.Label
	script := fmt.Sprintf("table bridge %s\ndelete table bridge %s\ntable bridge %s {\nchain forward {\ntype filter hook forward priority 0;\n%s}\n}\n", table, table, table, rules)
	_, err := n.lab.Switch.RunInput(script, "nft", "-f", "-")
	return err
}

// LoseVRRP drops percent of protocol 112 over both families.
func (n *Node) LoseVRRP(percent int, direction Direction) error {
	return n.Lose("meta l4proto 112", percent, direction)
}

// LoseNothing ends [Node.Lose].
func (n *Node) LoseNothing() error {
	table := "loss-" + n.Label
	_, err := n.lab.Switch.RunInput(fmt.Sprintf("table bridge %s\ndelete table bridge %s\n", table, table), "nft", "-f", "-")
	return err
}
