package syntax

import "strconv"

// Origin is a place in a configuration: a file as it was named, and a line counted from 1.
type Origin struct {
	File string `json:"file"`
	Line int    `json:"line"`
}

// String is "file:line".
func (o Origin) String() string { return o.File + ":" + strconv.Itoa(o.Line) }

// problem is a fault of the text.
type problem struct {
	At     Origin
	Code   string // what kind of fault: one of the constants below
	Text   string // what is wrong, with what keepalived makes of it
	Remedy string // what to do; may be empty
	Minor  bool   // keepalived -t accepts the file all the same
	Taken  bool   // keepalived runs the file all the same, and it is certain how
}

// Codes of problems.
const (
	CodeBrace      = "brace"      // braces do not match, or stand where none may
	CodeQuote      = "quote"      // a quote is not closed
	CodeInclude    = "include"    // an included file is missing, or not readable
	CodeSequence   = "sequence"   // a ~SEQ or ~LST that is not well formed
	CodeDefinition = "definition" // a $NAME that cannot be replaced
	CodeCharacters = "characters" // bytes that are no text
	codeComment    = "comment"    // a comment that begins inside of a word, as in a password
	CodeLength     = "length"     // a line or file that is too long
)
