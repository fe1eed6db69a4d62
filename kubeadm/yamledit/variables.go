package yamledit

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Parse reads the documents of a text, without those that are empty. A template that is YAML only when its variables are filled in, such as
// [${KEYS}], is read as if each of them was a word; values have the variables as they are written. An error is a [Fault].
func Parse(text []byte) ([]*yaml.Node, error) {
	docs, err := parse(text)
	if err == nil {
		return docs, nil
	}
	masked, written := maskVariables(text)
	if len(written) == 0 {
		return nil, faultOf(err, text)
	}
	if docs, err = parse(masked); err != nil { // not by a variable
		return nil, faultOf(err, text)
	}
	words := slices.SortedFunc(maps.Keys(written), func(a, b string) int { return len(b) - len(a) }) // one may begin another
	var pairs []string
	for _, w := range words {
		pairs = append(pairs, w, written[w])
	}
	back := strings.NewReplacer(pairs...)
	for _, d := range docs {
		unmask(d, back)
	}
	return docs, nil
}

func parse(text []byte) (docs []*yaml.Node, err error) {
	for dec := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var n yaml.Node
		err := dec.Decode(&n)
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return nil, err
		}
		if len(n.Content) > 0 && n.Content[0].Tag != "!!null" {
			docs = append(docs, n.Content[0])
		}
	}
}

// variable is what clusterctl fills in. It takes blanks around a name, too.
var variable = regexp.MustCompile(`\$\{[ \t]*[A-Za-z_][^{}\n]*\}`)

// notInWords is what a word of YAML may not have everywhere.
var notInWords = regexp.MustCompile(`[^A-Za-z0-9_]`)

// maskVariables gives each variable of a text the form of a word of the same length, so that everything stays in its line and column.
// written has the variables by their words.
func maskVariables(text []byte) (masked []byte, written map[string]string) {
	written = map[string]string{}
	masked = variable.ReplaceAllFunc(text, func(v []byte) []byte {
		word := notInWords.ReplaceAll(v, []byte("Q"))
		for next := byte('A'); ; next++ { // two variables that differ in other characters have words that differ
			if there, taken := written[string(word)]; there == string(v) || !taken && !bytes.Contains(text, word) {
				written[string(word)] = string(v)
				return word
			}
			if next > 'Z' {
				return v
			}
			word[len(word)-1] = next
		}
	})
	return masked, written
}

// unmask writes the variables back into the values, the keys and the comments of a node.
func unmask(n *yaml.Node, back *strings.Replacer) {
	for _, text := range []*string{&n.Value, &n.HeadComment, &n.LineComment, &n.FootComment} {
		*text = back.Replace(*text)
	}
	for _, sub := range n.Content {
		unmask(sub, back)
	}
}
