// Package printable makes texts that a message may carry and a terminal can show.
package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes such a text of any: what cannot be printed becomes a space, and what is over that length in bytes is cut off at a character's end.
func Clean(s string, most int) string {
	out := make([]byte, 0, min(len(s), most))
	for _, r := range s {
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			r = ' '
		}
		if len(out)+utf8.RuneLen(r) > most {
			break
		}
		out = utf8.AppendRune(out, r)
	}
	return string(out)
}

// Words are values as each prints itself.
func Words[T fmt.Stringer](all []T) []string {
	out := make([]string, len(all))
	for i, v := range all {
		out[i] = v.String()
	}
	return out
}

// List is the values in one text, with commas between them.
func List[T fmt.Stringer](all []T) string { return strings.Join(Words(all), ", ") }

// Several is a number of things, with an s behind their name but for one.
func Several(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}
