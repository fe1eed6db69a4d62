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
	_, err = Parse([]byte("a: [${A}]\nb: {c: ${B}}\nd: [x }]\n"))
	assert.EqualError(t, err, "yaml: line 3: did not find expected ',' or ']'", "a variable is none")
	_, err = Parse([]byte("a: b: c\n"))
	assert.Error(t, err)
}

// clusterctl takes ${ NAME } for ${NAME}.
func TestParseReadsVariablesWithBlanks(t *testing.T) {
	docs, err := Parse([]byte("a: [ ${ KEYS } ]\nb: {c: ${HOST }}\n"))
	require.NoError(t, err)
	var got map[string]any
	require.NoError(t, docs[0].Decode(&got))
	assert.Equal(t, map[string]any{"a": []any{"${ KEYS }"}, "b": map[string]any{"c": "${HOST }"}}, got)
}

// The parser counts the lines of some complaints from 0.
func TestParseNamesTheLineOfAFault(t *testing.T) {
	for text, want := range map[string]Fault{
		"a: [ x } ]":                             {1, "did not find expected ',' or ']'"},
		"a: 1\nb: [ x } ]\n":                     {2, "did not find expected ',' or ']'"},
		"a: 1\nb: {x: 1, y: 2 ]\nc: 1\n":         {2, "did not find expected ',' or '}'"},
		"a: 1\nb:\n  - x\n  y: 1\nc: 2\n":        {3, "did not find expected '-' indicator"},
		"a: 1\n}\n":                              {2, "did not find expected key"},
		"a: 1\nvips:\n- name: a\n priority: 5\n": {4, "did not find expected key"},
		"v: [A,":                                 {1, "did not find expected node content"},
		"a: 1\nv: [A,\n":                         {2, "did not find expected node content"},
		"a: 1\nb: !q!x 1\n":                      {2, "found undefined tag handle"},
		"%YAML 3.0\n---\na: 1\n":                 {1, "found incompatible YAML document"},
		"a: b: c\n":                              {1, "mapping values are not allowed in this context"},
		"a: 1\nb: x: y\n":                        {2, "mapping values are not allowed in this context"},
		"a: 1\nb: \"x\nc: 2\n":                   {2, "found unexpected end of stream"},
		"a: 1\n\tb: 1\n":                         {2, "found a tab character that violates indentation"},
		"a: 1\nb: @x\n":                          {2, "found character that cannot start any token"},
		"a: 1\nb\nc: 1\n":                        {2, "could not find expected ':'"},
		"a: 1\nb: *x\n":                          {0, "unknown anchor 'x' referenced"},
		"a: 1\nb: \x01\n":                        {0, "control characters are not allowed"},
	} {
		_, err := Parse([]byte(text))
		var got *Fault
		require.ErrorAs(t, err, &got, text)
		assert.Equal(t, want, *got, text)
	}
}
