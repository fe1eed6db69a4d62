package convert

import (
	"slices"

	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
)

// remarks are the comments of a file by the line that they are about: their own, or the next one with a keyword.
type remarks struct {
	all    []syntax.Remark // in the order of the files; those that are written are taken out
	behind map[syntax.Origin]string
	before map[syntax.Origin][]string
}

// remarksOf joins the comments of a document with its lines.
func remarksOf(doc *syntax.Document, nodes map[syntax.Origin][]*syntax.Node) remarks {
	r := remarks{behind: map[syntax.Origin]string{}, before: map[syntax.Origin][]string{}}
	lines := map[string][]int{}
	for at := range nodes {
		lines[at.File] = append(lines[at.File], at.Line)
	}
	for _, l := range lines {
		slices.Sort(l)
	}
	for _, c := range doc.Remarks {
		r.all = append(r.all, c)
		if !c.Alone {
			r.behind[c.At] = c.Text
			continue
		}
		list := lines[c.At.File]
		if i, _ := slices.BinarySearch(list, c.At.Line); i < len(list) {
			at := syntax.Origin{File: c.At.File, Line: list[i]}
			r.before[at] = append(r.before[at], c.Text)
		} else {
			r.before[c.At] = append(r.before[c.At], c.Text) // it is behind everything
		}
	}
	return r
}

// take is what is said before a line, and behind it, the first time that the line is written.
func (r *remarks) take(at syntax.Origin) (before []string, behind string) {
	before, behind = r.before[at], r.behind[at]
	if len(before) == 0 && behind == "" {
		return nil, ""
	}
	delete(r.before, at)
	delete(r.behind, at)
	return before, behind
}

// rest are the comments that no line of the text has taken.
func (r *remarks) rest() (out []syntax.Remark) {
	left := map[string]int{}
	for _, list := range r.before {
		for _, text := range list {
			left[text]++
		}
	}
	for _, c := range r.all {
		_, behind := r.behind[c.At]
		switch {
		case !c.Alone && behind:
			out = append(out, c)
		case c.Alone && left[c.Text] > 0:
			left[c.Text]--
			out = append(out, c)
		}
	}
	return out
}
