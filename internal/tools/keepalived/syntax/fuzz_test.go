package syntax

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// FuzzRead wants an end, a tree whose words come from somewhere, and problems with a place, whatever the text. The file includes itself by
// a name that the text may use.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		"a b {\n c \"d e\" # f\n}\n", "$M= \\\n one \\\n two\n~SEQ(X,1,3) $M\n", "@one include i\n@^one b\n", "~LST({A,B},{a,b},{c,d}) m${A}${B}\n",
		"$R=x${R}\n${R}\n", "include {i,f}\n", "}{\n\"", "~SEQx(U,0x90,0x10,0xc0) ~SEQ(V,3) fe80::${U}:$V",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		doc, err := Read("/f", "one", memory{"/f": text, "/i": "i1\ni2 {\n"})
		require.NoError(t, err)
		var visit func([]*Node)
		visit = func(nodes []*Node) {
			for _, n := range nodes {
				require.NotEmpty(t, n.Words)
				require.Positive(t, n.At.Line)
				require.Contains(t, doc.Sources, n.At.File)
				require.True(t, n.Block || n.Children == nil)
				visit(n.Children)
			}
		}
		visit(doc.Nodes)
		for _, p := range doc.Problems {
			assert.Positive(t, p.At.Line)
			assert.NotEmpty(t, p.Code+p.Text)
		}
	})
}

// FuzzArguments wants no argument with a byte that is not in the text or made by an escape of it.
func FuzzArguments(f *testing.F) {
	f.Add(`/bin/true a 'b c' "d\x41e" f\ g \cA \102`)
	f.Fuzz(func(t *testing.T, text string) {
		args, _ := Arguments(text)
		require.LessOrEqual(t, len(strings.Join(args, "")), len(text))
		words, _ := splitWords(text)
		require.LessOrEqual(t, len(strings.Join(words, "")), len(text))
	})
}

// FuzzBraces wants an end, and nothing longer than the pattern.
func FuzzBraces(f *testing.F) {
	f.Add("a{b,c{d,}e}{,}f")
	f.Fuzz(func(t *testing.T, pattern string) {
		out := braces(pattern)
		require.NotEmpty(t, out)
		require.LessOrEqual(t, len(out), maxBraces)
		for _, p := range out {
			require.LessOrEqual(t, len(p), len(pattern))
		}
	})
}
