package keepalived

import (
	"fmt"
	"time"
)

// longestTimer is the longest time that keepalived takes for a script.
const longestTimer = 4294

// readScript reads a vrrp_script.
func (r *reader) readScript(n statement) {
	s := &Script{Block: newBlock(n), Interval: time.Second, Rise: 1, Fall: 1}
	if !named(n) {
		return
	}
	readBlock("vrrp_script", scriptKeywords(), s, &s.Block, n)
	if s.Command.Args == nil {
		n.slip(CodeMissing, n.At, fmt.Sprintf("vrrp_script %s has no script: keepalived drops the block", s.Name), `add script "/path/to/check"`)
		return
	}
	if old, ok := r.scripts[s.Name]; ok {
		n.fault(CodeDuplicate, n.At, fmt.Sprintf("the vrrp_script %s is there already (%v)", s.Name, old.At), "give it another name")
		return
	}
	r.scripts[s.Name] = s
	r.config.Scripts = append(r.config.Scripts, s)
}

func scriptKeywords() map[string]keyword[Script] {
	return map[string]keyword[Script]{
		"script": {words: 2, read: func(s *Script, n statement) {
			if c, ok := n.command(false); ok {
				if s.Command.Args != nil {
					n.fault(CodeDuplicate, n.At, "a second script in one vrrp_script", "remove one of them")
				}
				c.User, s.Command = s.Command.User, *c
			}
		}},
		"interval": {words: 2, read: func(s *Script, n statement) { readTimer(n, &s.Interval) }},
		"timeout":  {words: 2, read: func(s *Script, n statement) { readTimer(n, &s.Timeout) }},
		"rise":     {words: 2, read: func(s *Script, n statement) { s.Rise = readResults(n) }},
		"fall":     {words: 2, read: func(s *Script, n statement) { s.Fall = readResults(n) }},
		"weight": {words: 2, read: func(s *Script, n statement) {
			v, ok := signed(n.Words[1])
			if begins := leading(n.Words[1]); !ok && begins != 0 && begins >= -mostWeight && begins <= mostWeight {
				n.slip(CodeValue, n.At, fmt.Sprintf("weight %q of %s is no number: keepalived takes %d, and its -t refuses it", n.Words[1], s.Name, begins), fmt.Sprintf("write weight %d", begins)).Harmless = true
				v, ok = begins, true
			}
			if !ok || v < -mostWeight || v > mostWeight {
				n.fault(CodeValue, n.At, fmt.Sprintf("the weight %s of %s, want -%d to %d", n.Words[1], s.Name, mostWeight, mostWeight), "write a number in that range")
			}
			s.Weight = weight{Value: int(v), Reverse: n.reversed(n.Words[2:], false)} // even one that is out of range
		}},
		"user":      {words: 2, read: func(s *Script, n statement) { s.Command.User = user(n.Words, 1) }},
		"init_fail": {read: func(s *Script, _ statement) { s.InitFail = true }},
	}
}

func readTimer(n statement, to *time.Duration) {
	if v, ok := n.atLeastOne(longestTimer); ok {
		*to = time.Duration(v) * time.Second
	}
}

// readResults reads rise and fall, whose faults all become 1.
func readResults(n statement) int {
	if v, ok := n.number(1, 1<<31-1, "takes 1"); ok {
		return v
	}
	return 1
}

// named says whether a block has a name.
func named(n statement) bool {
	if len(n.Words) < 2 {
		n.fault(CodeMissing, n.At, n.Words[0]+" has no name", "write a name behind it")
		return false
	}
	n.extra(2)
	return true
}
