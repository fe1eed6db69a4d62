package syntax

import "strings"

// definition is what a $NAME stands for: one line, or several.
type definition []string

func nameEnd(s string) int {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return i
		}
	}
	return len(s)
}

// define takes a line that is a definition, with the lines that continue it.
func (r *reader) define(l line, raw, text string) bool {
	if !strings.HasPrefix(text, "$") {
		return false
	}
	name := text[1:]
	end := nameEnd(name)
	if end == 0 || end >= len(name) || name[end] != '=' {
		return false
	}
	value := name[end+1:]
	name = name[:end]
	if !continued(raw) {
		r.defined[name] = definition{trim(value)}
		return true
	}
	def := definition{unfinished(value)}
	for continued(raw) {
		next, ok := r.next()
		if !ok {
			r.problem(l.at, CodeDefinition, "the definition of $"+name+" ends in a backslash at the end of the text", "remove the backslash of its last line")
			break
		}
		raw = next.text
		if part := trim(uncommented(unfinished(raw))); part != "" {
			def = append(def, part)
		}
		if len(def) > maxLines {
			break
		}
	}
	r.defined[name] = def
	return true
}

// continued says whether a line of a definition ends in a backslash.
func continued(raw string) bool { return strings.HasSuffix(trim(raw), `\`) }

// unfinished takes the backslash off.
func unfinished(s string) string { return trim(strings.TrimSuffix(trim(s), `\`)) }

// replace replaces the first $NAME or ${NAME} of text that is defined; what a definition of several lines has besides, comes next.
func (r *reader) replace(l line, text string) (out string, rest []line, found bool) {
	for i := 0; i < len(text); i++ {
		if text[i] != '$' {
			continue
		}
		name, end, ok := reference(text[i+1:])
		if !ok {
			continue
		}
		end += i + 1
		def, ok := r.lookup(l, name)
		if !ok || len(def) > 1 && trim(text[end:]) != "" {
			continue // keepalived leaves it as it is
		}
		for _, d := range def[1:] {
			rest = append(rest, line{at: l.at, text: d})
		}
		return text[:i] + def[0] + text[end:], rest, true
	}
	return text, nil, false
}

// replaceAll replaces what stands for one line, until nothing is left to replace.
func (r *reader) replaceAll(l line, text string) string {
	for range maxRounds {
		next, rest, found := r.replace(l, text)
		if !found || rest != nil || len(next) > maxLine {
			break
		}
		text = next
	}
	return text
}

// reference reads what follows a dollar sign: {NAME}, or NAME before white space, the end, a comma or a closing parenthesis.
func reference(s string) (name string, end int, ok bool) {
	if strings.HasPrefix(s, "{") {
		end = strings.IndexByte(s, '}')
		if end < 0 {
			return "", 0, false
		}
		name = s[1:end]
		first, _, _ := strings.Cut(name, " ")
		return name, end + 1, first != "" && nameEnd(first) == len(first)
	}
	end = nameEnd(s)
	if end == 0 || end < len(s) && !isSpace(s[end]) && s[end] != ',' && s[end] != ')' {
		return "", 0, false
	}
	return s[:end], end, true
}

func (r *reader) lookup(l line, name string) (definition, bool) {
	if def, ok := r.defined[name]; ok {
		return def, true
	}
	switch {
	case name == "_PWD":
		return definition{r.dir()}, true
	case name == "_INSTANCE":
		return definition{r.id}, true
	case name == "_HASH":
		return definition{"#"}, true
	case name == "_BANG":
		return definition{"!"}, true
	case name == "_RANDOM" || strings.HasPrefix(name, "_RANDOM "):
		r.problem(l.at, CodeDefinition, "$_RANDOM is another number at each start", "write a number")
		return definition{"0"}, true
	}
	return nil, false
}
