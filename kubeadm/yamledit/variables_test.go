package yamledit

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseReadsVariablesThatAreNoYAML(t *testing.T) {
	docs, err := Parse([]byte("a: [${A}, ${AQ}, ${A:=1, 2}, QQAQ]\nb: {c: ${A-b}, d: ${A+b}}\n"))
	require.NoError(t, err)
	var got map[string]any
	require.NoError(t, docs[0].Decode(&got))
	assert.Equal(t, map[string]any{"a": []any{"${A}", "${AQ}", "${A:=1, 2}", "QQAQ"}, "b": map[string]any{"c": "${A-b}", "d": "${A+b}"}}, got)
	assert.Equal(t, 2, At(docs[0], "b").Line)
	assert.Equal(t, 4, At(docs[0], "b").Column)
}

func TestParseLeavesOtherFaultsAsTheyAre(t *testing.T) {
	_, err := Parse([]byte("a: [${A}\nb: c: d\n"))
	assert.Error(t, err)
	_, err = Parse([]byte("a: b: c\n"))
	assert.Error(t, err)
}
