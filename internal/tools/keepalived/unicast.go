package keepalived

import (
	"fmt"
)

func unicastKeywords(table map[string]instanceKeyword) {
	table["unicast_peer"] = instanceKeyword{block: true, list: true, read: func(d *draft, n statement) {
		d.unicast(n)
		for _, c := range n.Children {
			if !c.Block {
				readPeer(d, statement{c, n.findings})
			}
		}
	}}
	table["unicast_src_ip"] = instanceKeyword{words: 2, read: func(d *draft, n statement) { d.unicast(n); readSource(d, n) }}
	table["mcast_src_ip"] = instanceKeyword{words: 2, read: func(d *draft, n statement) { readSource(d, n) }}
	table["mcast_dst_ip"] = instanceKeyword{words: 2, read: func(d *draft, n statement) {
		a, ok := n.host(n.Words[1])
		if !ok || !a.IsMulticast() {
			n.fault(CodeValue, n.At, fmt.Sprintf("mcast_dst_ip %q is no multicast address: keepalived ignores the line", n.Words[1]), "")
		} else if d.suits(n.findings, n.At, a, n.Words[1]) {
			d.Group = a
		}
	}}
	table["unicast_ttl"] = withNumber(0, 255, "takes 255", func(d *draft, v int) { d.UnicastTTL = v })
	table["check_unicast_src"] = instanceKeyword{read: func(d *draft, n statement) { d.unicast(n); d.checkSource = n.alone() }}
	table["unicast_fault_no_peer"] = instanceKeyword{read: func(d *draft, _ statement) { d.FaultNoPeer = true }}
	table["old_unicast_checksum"] = instanceKeyword{
		note: "keepvip takes the checksum of keepalived 1.3.6 and later", code: CodeUnsupported,
		read: func(d *draft, n statement) { d.unicast(n) },
	}
}

// unicast remembers the first keyword that only unicast has.
func (d *draft) unicast(n statement) {
	if d.unicastWord == nil {
		d.unicastWord = n.Node
	}
}

func readSource(d *draft, n statement) {
	a, ok := n.host(n.Words[1])
	if !ok {
		n.slip(CodeValue, n.At, fmt.Sprintf("%s %q is no address: keepalived ignores the line", n.Words[0], n.Words[1]), "write an address, or remove the line")
	} else if d.suits(n.findings, n.At, a, n.Words[1]) {
		d.Source = a
	}
	n.extra(2)
}

// readPeer reads one line of unicast_peer: an address, with min_ttl and max_ttl.
func readPeer(d *draft, n statement) {
	a, ok := n.host(n.Words[0])
	if !ok {
		n.fault(CodeValue, n.At, fmt.Sprintf("the peer %q is no address: keepalived drops it", n.Words[0]), "write an address, one a line")
		return
	}
	if !d.suits(n.findings, n.At, a, n.Words[0]) {
		return
	}
	p := Peer{At: n.At, Address: a, MaxTTL: 255}
	for i := 1; i < len(n.Words); i += 2 {
		word := n.Words[i]
		if word != "min_ttl" && word != "max_ttl" {
			text := fmt.Sprintf("keepalived does not know %q behind the peer %s", word, n.Words[0])
			if _, isPeer := address(word); isPeer {
				text = fmt.Sprintf("the peer %s is lost: keepalived reads one peer a line", word)
			}
			n.fault("peer-lost", n.At, text, "write each peer on a line of its own")
			break
		}
		if i+1 == len(n.Words) {
			n.fault(CodeMissing, n.At, word+" has no value", "write a number from 0 to 255")
			break
		}
		v, ok := unsigned(n.Words[i+1])
		if !ok || v > 255 {
			n.fault(CodeValue, n.At, fmt.Sprintf("%s %q, want 0 to 255", word, n.Words[i+1]), "")
			continue
		}
		if word == "min_ttl" {
			p.MinTTL = int(v)
		} else {
			p.MaxTTL = int(v)
		}
		d.checkSource = true
	}
	d.Unicast = append(d.Unicast, p)
}
