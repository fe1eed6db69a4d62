package syntax

import (
	"fmt"
	"strings"
)

// What looks like a quote or a space, and what an editor or a web page writes in the place of it.
const (
	likeQuotes = "\u201c\u201d\u201e\u201f\u2018\u2019\u201a\u201b\u00ab\u00bb"
	likeSpaces = "\u00a0\u2007\u202f\u200b\u3000\u2002\u2003\u2009"
)

// lookalike looks for a character that is no quote or no space to keepalived. Comments may have any.
func (r *reader) lookalike(text string, at Origin) {
	text = uncommented(text)
	i := strings.IndexAny(text, likeQuotes+likeSpaces)
	if i < 0 {
		return
	}
	found := []rune(text[i:min(len(text), i+4)])[0]
	p := problem{
		At: at, Code: CodeCharacters, Minor: true,
		Text:   fmt.Sprintf("%c (%U) is no quote to keepalived, but a letter of the word", found, found),
		Remedy: `write the quote of the keyboard: "`,
	}
	if strings.ContainsRune(likeSpaces, found) {
		p.Text = fmt.Sprintf("a space of another kind (%U) is no space to keepalived, but a letter of the word", found)
		p.Remedy = "write the space of the keyboard"
	}
	r.problems = append(r.problems, p)
}
