// Package yamledit changes single places of a YAML text that a person has written: every line that is not part of a change stays as it
// is, with its comments, order, quotes, indentation and blank lines.
//
// The library's nodes say where things are, and write what is new. They do not write what was there: go.yaml.in/yaml/v3 would drop
// blank lines, indent lists anew, and join and quote texts in its own way, so that a person could not see in the difference what was
// changed. After each change the text is read again, and has to say what was wanted and nothing else; otherwise it is as before.
package yamledit
