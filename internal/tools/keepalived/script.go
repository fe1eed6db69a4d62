package keepalived

import (
	"fmt"
	"time"

	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
)

// longestTimer is the longest time that keepalived takes for a script.
const longestTimer = 4294

// readScript reads a vrrp_script.
func (r *reader) readScript(n *syntax.Node) {
	s := &Script{Block: newBlock(n), Interval: time.Second, Rise: 1, Fall: 1}
	if !named(r, n) {
		return
	}
	readBlock(r, "vrrp_script", scriptKeywords(), s, &s.Block, n.Children)
	if s.Command.Args == nil {
		r.slip(CodeMissing, n.At, fmt.Sprintf("vrrp_script %s has no script: keepalived drops the block", s.Name), `add script "/path/to/check"`)
		return
	}
	if old, ok := r.scripts[s.Name]; ok {
		r.fault(CodeDuplicate, n.At, fmt.Sprintf("the vrrp_script %s is there already (%v)", s.Name, old.At), "give it another name")
		return
	}
	r.scripts[s.Name] = s
	r.config.Scripts = append(r.config.Scripts, s)
}

func scriptKeywords() map[string]keyword[Script] {
	return map[string]keyword[Script]{
		"script": {words: 2, read: func(r *reader, s *Script, n *syntax.Node) {
			if c, ok := r.command(n, false); ok {
				if s.Command.Args != nil {
					r.fault(CodeDuplicate, n.At, "a second script in one vrrp_script", "remove one of them")
				}
				c.User, s.Command = s.Command.User, *c
			}
		}},
		"interval": {words: 2, read: func(r *reader, s *Script, n *syntax.Node) {
			if v, ok := r.atLeastOne(n, longestTimer); ok {
				s.Interval = time.Duration(v) * time.Second
			}
		}},
		"timeout": {words: 2, read: func(r *reader, s *Script, n *syntax.Node) {
			if v, ok := r.atLeastOne(n, longestTimer); ok {
				s.Timeout = time.Duration(v) * time.Second
			}
		}},
		"rise": {words: 2, read: func(r *reader, s *Script, n *syntax.Node) { s.Rise = r.results(n) }},
		"fall": {words: 2, read: func(r *reader, s *Script, n *syntax.Node) { s.Fall = r.results(n) }},
		"weight": {words: 2, read: func(r *reader, s *Script, n *syntax.Node) {
			v, ok := signed(n.Words[1])
			if begins := leading(n.Words[1]); !ok && begins != 0 && begins >= -mostWeight && begins <= mostWeight {
				r.slip(CodeValue, n.At, fmt.Sprintf("weight %q of %s is no number: keepalived takes %d, and its -t refuses it", n.Words[1], s.Name, begins), fmt.Sprintf("write weight %d", begins))
				r.harmless(true)
				v, ok = begins, true
			}
			if !ok || v < -mostWeight || v > mostWeight {
				r.fault(CodeValue, n.At, fmt.Sprintf("the weight %s of %s, want -%d to %d", n.Words[1], s.Name, mostWeight, mostWeight), "write a number in that range")
			}
			s.Weight = weight{Value: int(v), Reverse: r.reversed(n, n.Words[2:], false)} // even one that is out of range
		}},
		"user":      {words: 2, read: func(_ *reader, s *Script, n *syntax.Node) { s.Command.User = user(n.Words, 1) }},
		"init_fail": {read: func(_ *reader, s *Script, _ *syntax.Node) { s.InitFail = true }},
	}
}

// results reads rise and fall, whose faults all become 1.
func (r *reader) results(n *syntax.Node) int {
	if v, ok := r.number(n, 1, 1<<31-1, "takes 1"); ok {
		return v
	}
	return 1
}

// named says whether a block has a name.
func named(r *reader, n *syntax.Node) bool {
	if len(n.Words) < 2 {
		r.fault(CodeMissing, n.At, n.Words[0]+" has no name", "write a name behind it")
		return false
	}
	r.extra(n, 2)
	return true
}
