package syntax

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The rows are what keepalived 2.2.7 calls, as its data dump shows.
func TestArgumentsCutsAsKeepalivedCutsScripts(t *testing.T) {
	for text, want := range map[string][]string{
		`/bin/true a 'b c' d`:      {"/bin/true", "a", "b c", "d"},
		`/bin/echo a  b`:           {"/bin/echo", "a", "b"},
		`a "d e" f`:                {"a", "d e", "f"},
		`ab"c d"e'f'`:              {"abc def"},
		`a\ b`:                     {"a b"},
		`\x41\102 \\x a\tb`:        {"AB", `\x`, "a\tb"},
		`\a\b\E\f\n\r\v\cA`:        {"\a\b\x1b\f\n\r\v\x01"},
		`sh -c 'exit 0; x'`:        {"sh", "-c", "exit 0; x"},
		"  /bin/true\t a ":         {"/bin/true", "a"},
		`a || exit 1`:              {"a", "||", "exit", "1"},
		`"" ''`:                    {"", ""},
		``:                         nil,
		`a\`:                       {`a\`},
		`\x`:                       {"x"},
		`\7 \1234 \18`:             {"\a", "S4", "\x018"},
		`"it's" 'say "no"' "a\"b"`: {"it's", `say "no"`, `a"b`},
		"</dev/tcp/127.0.0.1/80":   {"</dev/tcp/127.0.0.1/80"},
	} {
		got, closed := Arguments(text)
		assert.True(t, closed, text)
		assert.Equal(t, want, got, text)
	}
}

func TestArgumentsWantsClosedQuotes(t *testing.T) {
	for _, text := range []string{`"a`, `a 'b`, `"a\"`, `'`} {
		_, closed := Arguments(text)
		assert.False(t, closed, text)
	}
}

func TestBracesExpand(t *testing.T) {
	for pattern, want := range map[string][]string{
		"a":              {"a"},
		"a{b,c}d":        {"abd", "acd"},
		"{a,b{c,d}}e":    {"ae", "bce", "bde"},
		"{foo/{,cat},x}": {"foo/", "foo/cat", "x"},
		"a{b":            {"a{b"},
		"{a,b}{c,d}":     {"ac", "ad", "bc", "bd"},
	} {
		assert.Equal(t, want, braces(pattern), pattern)
	}
}
