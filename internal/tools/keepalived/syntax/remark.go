package syntax

import "strings"

// Remark is a comment that a person has written into a file.
type Remark struct {
	At    Origin
	Text  string // without the mark and the blanks around it; never empty
	Alone bool   // nothing else is on the line
}

// most of the remarks of a document are kept.
const mostRemarks = 10000

// remark keeps the comment of a line of a file. A line about a password has none: what is behind a mark there may be a part of it.
func (r *reader) remark(text string, at Origin) {
	before := uncommented(text)
	if len(before) == len(text) || len(r.remarks) == mostRemarks {
		return
	}
	said := strings.TrimSpace(strings.TrimLeft(text[len(before):], "#!"))
	lower := strings.ToLower(text)
	for _, word := range []string{"pass", "key", "secret", "token", "hex:", "ascii:"} {
		if strings.Contains(lower, word) {
			return
		}
	}
	if strings.Trim(said, "#!-=*_+~ \t") == "" {
		return // a rule across the page
	}
	r.remarks = append(r.remarks, Remark{At: at, Text: said, Alone: trim(before) == ""})
}
