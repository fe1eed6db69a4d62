package syntax

import "strings"

// splitWords cuts text at white space and at double quotes: e"f g"h is three words. A quote that is not closed drops the rest.
func splitWords(text string) (words []string, closed bool) {
	for {
		text = strings.TrimLeft(text, " \t\n\v\f\r")
		if text == "" {
			return words, true
		}
		if text[0] == '"' {
			end := strings.IndexByte(text[1:], '"')
			if end < 0 {
				return words, false
			}
			words, text = append(words, text[1:end+1]), text[end+2:]
			continue
		}
		end := strings.IndexFunc(text, func(r rune) bool { return r == '"' || r < 0x80 && isSpace(byte(r)) })
		if end < 0 {
			return append(words, text), true
		}
		words, text = append(words, text[:end]), text[end:]
	}
}

// Arguments cuts text as keepalived cuts the lines of scripts, and then the script itself: at white space, with single and double quotes that
// join what is between them, and with the escapes of C and \cX. It fails where a quote is not closed.
func Arguments(text string) (args []string, closed bool) {
	var word strings.Builder
	inWord, quote := false, byte(0)
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '\\' && i+1 < len(text):
			b, n := escape(text[i:])
			word.WriteByte(b)
			inWord = true
			i += n
			continue
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteByte(c)
		case c == '"' || c == '\'':
			quote, inWord = c, true
		case isSpace(c):
			if inWord {
				args, inWord = append(args, word.String()), false
				word.Reset()
			}
		default:
			word.WriteByte(c)
			inWord = true
		}
		i++
	}
	if inWord {
		args = append(args, word.String())
	}
	return args, quote == 0
}

// escape reads what begins with a backslash at s[0] and has a character at s[1]: the byte that it means, and how many bytes it takes.
func escape(s string) (b byte, n int) {
	switch c := s[1]; {
	case c == 'x' && len(s) > 2 && hex(s[2]) >= 0:
		v, n := 0, 2
		for n < len(s) && hex(s[n]) >= 0 {
			v, n = v<<4&0xff|hex(s[n]), n+1
		}
		return byte(v), n
	case c >= '0' && c <= '7':
		v, n := 0, 1
		for n < len(s) && n < 4 && s[n] >= '0' && s[n] <= '7' {
			v, n = v<<3&0xff|int(s[n]-'0'), n+1
		}
		return byte(v), n
	case c == 'c' && len(s) > 2:
		return s[2] & 0x1f, 3
	default:
		if at := strings.IndexByte("abEfnrtv", c); at >= 0 {
			return "\a\b\x1b\f\n\r\t\v"[at], 2
		}
		return c, 2
	}
}

func hex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
