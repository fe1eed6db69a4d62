package keepalived

import (
	"fmt"

	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
)

// Bounds of weights.
const (
	mostWeight     = 253
	mostFileWeight = 254
)

// trackKeywords adds the track_* blocks to the table of a block. What they name has to stand above them, as keepalived wants it.
func trackKeywords[T any](table map[string]keyword[T], r *reader, of func(*T) *Tracking) {
	add := func(word string, list func(*Tracking) *[]Tracked, line func(*[]Tracked, statement)) {
		table[word] = keyword[T]{block: true, list: true, read: func(into *T, n statement) {
			to, seen := list(of(into)), map[string]syntax.Origin{}
			for _, t := range *to {
				seen[t.Name] = t.At
			}
			for _, c := range n.Children {
				if first, ok := seen[c.Words[0]]; ok {
					n.fault(CodeDuplicate, c.At, fmt.Sprintf("%s is tracked already (%v): keepalived drops this line", c.Words[0], first), "remove one of them")
				} else if seen[c.Words[0]] = c.At; !c.Block {
					line(to, statement{c, n.findings})
				}
			}
		}}
	}
	add("track_interface", func(t *Tracking) *[]Tracked { return &t.Interfaces }, func(to *[]Tracked, n statement) { readTracked(to, n, weight{}, mostWeight, true) })
	add("track_script", func(t *Tracking) *[]Tracked { return &t.Scripts },
		defined(r.scripts, "vrrp_script", mostWeight, func(s *Script) weight { return s.Weight }))
	add("track_file", func(t *Tracking) *[]Tracked { return &t.Files },
		defined(r.files, "track_file", mostFileWeight, func(f *trackFile) weight { return f.Weight }))
	add("track_process", func(t *Tracking) *[]Tracked { return &t.Processes },
		defined(r.processes, "vrrp_track_process", mostFileWeight, func(p *TrackProcess) weight { return p.Weight }))
}

// defined reads a line about what a block of that kind has defined, which has a weight of its own.
func defined[V any](all map[string]*V, kind string, most int64, of func(*V) weight) func(*[]Tracked, statement) {
	return func(to *[]Tracked, n statement) {
		if v, ok := all[n.Words[0]]; ok {
			readTracked(to, n, of(v), most, false)
		} else {
			missing(n, kind)
		}
	}
}

func missing(n statement, kind string) {
	n.fault(codeReference, n.At, fmt.Sprintf("no %s %s above this line: keepalived drops it, and nothing is tracked", kind, n.Words[0]),
		fmt.Sprintf("put the block %s %s above the first that tracks it, or correct the name", kind, n.Words[0]))
}

// readTracked reads one line of a track_* block: NAME [weight N [reverse|noreverse]].
func readTracked(to *[]Tracked, n statement, w weight, most int64, clamp bool) {
	name := n.Words[0]
	words := n.Words[1:]
	if len(words) > 0 && words[0] != "weight" {
		n.fault(CodeValue, n.At, fmt.Sprintf("keepalived does not know %q behind %s, and drops the line", words[0], name), "want NAME weight NUMBER, one a line")
		return
	}
	if len(words) == 1 {
		n.fault(CodeMissing, n.At, "weight of "+name+" has no value: keepalived drops the line", "write a number")
		return
	}
	own := false
	if len(words) > 1 {
		var v int
		if v, own = n.weight(name, words[1], most, clamp); own {
			w = weight{Value: v, Reverse: n.reversed(words[2:], w.Reverse)}
		}
	}
	*to = append(*to, Tracked{At: n.At, Name: name, Weight: w, Own: own})
}

// weight reads a weight; clamp keeps one that is out of range as the nearest.
func (n statement) weight(name, text string, most int64, clamp bool) (int, bool) {
	v, ok := signed(text)
	if ok && v >= -most && v <= most {
		return int(v), true
	}
	what := "ignores the weight of this line"
	if clamp && ok {
		what = fmt.Sprintf("takes %d", min(max(v, -most), most))
	}
	n.fault(CodeValue, n.At, fmt.Sprintf("the weight %s of %s, want -%d to %d: keepalived %s", text, name, most, most, what), "write a number in that range")
	return int(min(max(v, -most), most)), clamp && ok
}

func (n statement) reversed(words []string, before bool) bool {
	if len(words) == 0 {
		return before
	}
	switch words[0] {
	case "reverse":
		return true
	case "noreverse":
		return false
	}
	n.fault(CodeValue, n.At, fmt.Sprintf("keepalived does not know %q behind the weight", words[0]), "want reverse or noreverse")
	return before
}
