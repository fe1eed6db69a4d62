package config

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// firstBadLine is the first line with bytes that cannot be in YAML, or 0. The parser would refuse them without saying where.
func firstBadLine(data []byte) int {
	for i, line := range bytes.Split(data, []byte("\n")) {
		control := func(r rune) bool { return r < ' ' && r != '\t' && r != '\r' || r == 0x7f }
		if !utf8.Valid(line) || bytes.ContainsFunc(line, control) {
			return i + 1
		}
	}
	return 0
}

var (
	yamlLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^yaml: (?:line ([0-9]+): )?`) })
	// The parser counts lines from 0 in these complaints, and from 1 in all others.
	yamlFromZero = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^did not find expected (key|node content|'-' indicator|',' or|<)`)
	})
)

// yamlError takes the line out of a parser's message. The parser leaves it out for the first one.
func yamlError(err error) (line int, text string) {
	text = err.Error()
	if m := yamlLine().FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1]) // left out: 0
		text = text[len(m[0]):]
	}
	if yamlFromZero().MatchString(text) {
		line++
	}
	if line == 0 && !strings.HasPrefix(text, "unknown anchor") { // that one may be in any line
		line = 1
	}
	return line, strings.Join(strings.Fields(text), " ")
}
