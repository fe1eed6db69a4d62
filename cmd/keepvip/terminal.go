package main

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// shown is a text that a terminal shows and does nothing else with: some of it is what other nodes, programs and operators have said. A
// character that is an order to a terminal is a question mark.
func shown(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && isOrder(r) {
			return '?'
		}
		return r
	}, text)
}

// isOrder tells the control characters of ASCII and of Latin-1 (C0, DEL and C1).
func isOrder(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }

// escaped is a JSON text in which those of these characters that JSON lets stand as they are (DEL and C1) are escaped.
func escaped(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for _, r := range string(text) {
		if r != '\n' && isOrder(r) {
			out = fmt.Appendf(out, `\u%04x`, r)
			continue
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}
