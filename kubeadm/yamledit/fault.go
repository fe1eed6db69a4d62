package yamledit

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Fault is why a text is no YAML.
type Fault struct {
	Line int // from 1; 0: it may be any
	Text string
}

// Error has the line as the parser has it.
func (f *Fault) Error() string {
	if f.Line == 0 {
		return "yaml: " + f.Text
	}
	return "yaml: line " + strconv.Itoa(f.Line) + ": " + f.Text
}

var (
	faultLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^yaml: (?:line ([0-9]+): )?`) })
	// The parser counts lines from 0 in these complaints, as package config knows, too, and from 1 in those of its scanner.
	fromZero = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(did not find expected (key|node content|'-' indicator|',' or|<)|found (undefined tag handle|duplicate %|incompatible YAML))`)
	})
	anywhere = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(unknown anchor|control characters|invalid |incomplete |input error|document |anchor )`)
	})
)

// faultOf takes the line out of a parser's message, which leaves it out for the first one.
func faultOf(err error, text []byte) *Fault {
	m := faultLine().FindStringSubmatch(err.Error())
	if m == nil {
		return &Fault{Text: oneLine(err)}
	}
	f := &Fault{Text: strings.Join(strings.Fields(err.Error()[len(m[0]):]), " ")}
	f.Line, _ = strconv.Atoi(m[1]) // left out: 0
	if fromZero().MatchString(f.Text) {
		f.Line++
	}
	if f.Line == 0 && !anywhere().MatchString(f.Text) {
		f.Line = 1
	}
	f.Line = min(f.Line, bytes.Count(bytes.TrimRight(text, "\n"), []byte("\n"))+1) // the end is behind the last one
	return f
}
