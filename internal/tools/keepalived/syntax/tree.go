package syntax

// Node is one line of a configuration: a keyword with its words, and what is between the braces behind it.
type Node struct {
	At       Origin
	Words    []string // at least one; quotes are off
	Raw      string   // the line itself, with its quotes and without comment and brace
	Block    bool     // braces follow
	Children []*Node
}

// tree is the tree while it is made.
type tree struct {
	root  Node
	open  []*Node // the block that is open last; none is root
	ready *Node   // the line that a brace may follow on a line of its own
}

func (t *tree) top() *Node {
	if n := len(t.open); n > 0 {
		return t.open[n-1]
	}
	return &t.root
}

// add cuts one line at its braces and puts each part where it belongs.
func (t *tree) add(r *reader, at Origin, text string) {
	from := 0
	outside(text, func(i int, c byte) bool {
		switch c {
		case '{':
			t.statement(r, at, text[from:i])
			t.opened(r, at)
			from = i + 1
		case '}':
			t.statement(r, at, text[from:i])
			t.closed(r, at)
			from = i + 1
		}
		return false
	})
	t.statement(r, at, text[from:])
}

// statement is a line without braces; an empty one changes nothing.
func (t *tree) statement(r *reader, at Origin, text string) {
	if text = trim(text); text == "" {
		return
	}
	words, ok := splitWords(text)
	if !ok {
		r.problem(at, CodeQuote, "a quote is not closed: keepalived drops the line from there", "close it on the same line")
	}
	if len(words) == 0 {
		return
	}
	if words[0] == "{" || words[0] == "}" {
		r.problem(at, CodeBrace, "a brace in quotes: keepalived takes it for a brace in a list", "remove it")
	}
	t.ready = &Node{At: at, Words: words, Raw: text}
	t.top().Children = append(t.top().Children, t.ready)
}

func (t *tree) opened(r *reader, at Origin) {
	if t.ready == nil {
		r.problem(at, CodeBrace, "an opening brace without a keyword before it", "remove it, with the brace that closes it")
		t.ready = &Node{At: at, Words: []string{""}}
		t.top().Children = append(t.top().Children, t.ready)
	}
	t.ready.Block = true
	t.open = append(t.open, t.ready)
	t.ready = nil
}

func (t *tree) closed(r *reader, at Origin) {
	t.ready = nil
	if len(t.open) == 0 {
		r.problems = append(r.problems, problem{
			At: at, Code: CodeBrace, Taken: true, Text: "a closing brace too many: keepalived takes no notice of it",
			Remedy: "remove it, or look for an opening brace that is missing above",
		})
		return
	}
	t.open = t.open[:len(t.open)-1]
}

func (t *tree) finish(r *reader) {
	for _, n := range t.open {
		r.problem(n.At, CodeBrace, "the block "+n.Words[0]+" is never closed", "add the closing brace: keepalived reads everything behind as a part of it")
	}
}
