package syntax

import "strings"

// isSpace says what separates words.
func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// trim takes white space off both ends.
func trim(s string) string { return strings.Trim(s, " \t\n\v\f\r") }

// outside calls see for each byte of s that is not between double quotes, until it says stop. A backslash before a quote takes its meaning.
func outside(s string, see func(i int, c byte) (stop bool)) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && s[i+1] == '"':
			i++
		case s[i] == '"':
			quoted = !quoted
		case !quoted && see(i, s[i]):
			return
		}
	}
}

// uncommented cuts a comment off: # and ! begin one anywhere but between double quotes.
func uncommented(s string) string {
	end := len(s)
	outside(s, func(i int, c byte) bool {
		if c == '#' || c == '!' {
			end = i
		}
		return end < len(s)
	})
	return s[:end]
}
