package syntax

import "strings"

// condition takes the @id or @^id off a line and says whether the line counts on this node.
func (r *reader) condition(text string) (rest string, counts bool) {
	end := strings.IndexAny(text, " \t\v\f")
	if end < 0 {
		end = len(text)
	}
	id, not := strings.CutPrefix(text[1:end], "^")
	return trim(text[end:]), (id == r.id) != not
}
