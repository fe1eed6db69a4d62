package code

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	indexFile  = "../../../docs/troubleshooting.md"
	indexBegin = "<!-- index: the program reads it; make golden folds its lines -->\n"
	indexEnd   = "<!-- end of the index -->\n"
)

// Whatever the page has of the codes is read. UPDATE_GOLDEN=1 writes what is read in lines of one length, and in this form.
func TestIndexOfTheCodesHasOneForm(t *testing.T) {
	text, err := os.ReadFile(indexFile)
	require.NoError(t, err)
	head, rest, ok := strings.Cut(string(text), indexBegin)
	require.True(t, ok, "%s has no line %s", indexFile, indexBegin)
	_, tail, ok := strings.Cut(rest, indexEnd)
	require.True(t, ok, "%s has no line %s", indexFile, indexEnd)
	want := head + indexBegin + index() + indexEnd + tail
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(indexFile, []byte(want), 0o644))
		return
	}
	assert.Equal(t, want, string(text), "run make golden")
}

// index is a heading for each code, so that each has an anchor: #kv103-holder-silent.
func index() string {
	b := &strings.Builder{}
	var last byte
	for _, e := range All() {
		if e.Code[2] != last {
			last = e.Code[2]
			fmt.Fprintf(b, "\n## KV%cxx: %s\n", last, titles(last))
		}
		fmt.Fprintf(b, "\n### %s %s\n\n%s\n%s%s", e.Code, e.Name, fold("", e.Means), fold("- ", e.Look), fold("- ", e.Remedy))
	}
	b.WriteByte('\n')
	return b.String()
}

// fold is a paragraph, or an item of a list, in lines of at most 120 columns.
func fold(mark, text string) string {
	line, out := mark, ""
	for i, word := range strings.Fields(text) {
		if i > 0 && len([]rune(line+word)) > 120 {
			out, line = out+strings.TrimRight(line, " ")+"\n", strings.Repeat(" ", len(mark))
		}
		line += word + " "
	}
	return out + strings.TrimRight(line, " ") + "\n"
}

func titles(digit byte) string {
	return map[byte]string{
		'1': "why the address moved", '2': "what keeps this node from holding", '3': "what the wire shows", '4': "this host", '5': "Raft",
		'6': "the cluster's files", '7': "drills",
	}[digit]
}
