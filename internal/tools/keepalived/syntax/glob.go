package syntax

import (
	"path/filepath"
	"strings"
)

// maxBraces bounds what a pattern with braces expands to.
const maxBraces = 256

// braces expands "a{b,c{d,e}}f" in the order of csh. More than maxBraces patterns are cut.
func braces(pattern string) []string {
	queue, out := []string{pattern}, []string(nil)
	for len(queue) > 0 && len(out) < maxBraces {
		p := queue[0]
		queue = queue[1:]
		open, parts, end := braceAt(p)
		if parts == nil {
			out = append(out, p)
			continue
		}
		next := make([]string, 0, len(parts)+len(queue))
		for _, part := range parts {
			next = append(next, p[:open]+part+p[end+1:])
		}
		queue = append(next, queue...)
		if len(queue) > maxBraces {
			queue = queue[:maxBraces]
		}
	}
	return out
}

// braceAt finds the first pair of braces and the alternatives between them; parts is nil where there is none.
func braceAt(p string) (open int, parts []string, end int) {
	open = strings.IndexByte(p, '{')
	if open < 0 {
		return 0, nil, 0
	}
	depth, from := 0, open+1
	for i := open; i < len(p); i++ {
		switch p[i] {
		case '{':
			depth++
		case ',':
			if depth == 1 {
				parts = append(parts, p[from:i])
				from = i + 1
			}
		case '}':
			if depth--; depth == 0 {
				return open, append(parts, p[from:i]), i
			}
		}
	}
	return 0, nil, 0
}

// hiddenBeyond says whether path has a hidden part where the pattern has a wildcard instead.
func hiddenBeyond(pattern, path string) bool {
	want, have := strings.Split(filepath.Clean(pattern), "/"), strings.Split(filepath.Clean(path), "/")
	if len(want) != len(have) {
		return false
	}
	for i, part := range have {
		if strings.HasPrefix(part, ".") && part != "." && part != ".." && !strings.HasPrefix(want[i], ".") {
			return true
		}
	}
	return false
}
