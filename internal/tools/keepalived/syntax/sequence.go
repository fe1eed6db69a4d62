package syntax

import (
	"strconv"
	"strings"
)

// maxSteps bounds one sequence.
const maxSteps = 65536

// sequence takes a line that begins with ~SEQ(..), ~SEQx(..) or ~LST(..), and makes the rest of it as many lines as that says.
func (r *reader) sequence(l line, text string) bool {
	kind, rest, found := strings.Cut(text, "(")
	kind = trim(kind)
	if !found || kind != "~SEQ" && kind != "~SEQx" && kind != "~LST" {
		return false
	}
	inner, rest, found := strings.Cut(rest, ")")
	inner = r.replaceAll(l, inner)
	var steps [][]assignment
	if found && kind == "~LST" {
		steps = list(inner)
	} else if found {
		steps = count(inner, kind == "~SEQx")
	}
	if steps == nil {
		r.problem(l.at, CodeSequence, kind+"("+inner+" is not well formed: keepalived drops the line", "want ~SEQ(NAME, FIRST, STEP, LAST) or ~LST(NAME, VALUE, ...)")
		return true
	}
	lines := make([]line, 0, len(steps))
	for _, set := range steps {
		lines = append(lines, line{at: l.at, text: rest, set: set})
	}
	r.push(l.at, lines...)
	return true
}

// count reads "NAME, [FIRST, [STEP,]] LAST". It is nil for what is no sequence.
func count(inner string, hexadecimal bool) [][]assignment {
	parts := strings.Split(inner, ",")
	name := trim(parts[0])
	if len(parts) < 2 || len(parts) > 4 || name == "" || nameEnd(name) != len(name) {
		return nil
	}
	n := make([]int64, 0, 3)
	for _, p := range parts[1:] {
		v, err := strconv.ParseInt(strings.TrimPrefix(trim(p), "+"), 0, 32)
		if err != nil {
			return nil
		}
		n = append(n, v)
	}
	first, step, last := int64(1), int64(1), n[len(n)-1]
	if last < 0 {
		first = -1
	}
	if len(n) > 1 {
		first = n[0]
	}
	if last < first {
		step = -1
	}
	if len(n) == 3 {
		step = n[1]
	}
	if step == 0 || (last-first)/step < 0 || (last-first)/step >= maxSteps || last != first && (last > first) != (step > 0) {
		return nil
	}
	base := 10
	if hexadecimal {
		base = 16
	}
	var out [][]assignment
	for v := first; (step > 0 && v <= last) || (step < 0 && v >= last); v += step {
		out = append(out, []assignment{{name, strconv.FormatInt(v, base)}})
	}
	return out
}

// list reads "NAME, VALUE, ..." or "{NAME, ...}, {VALUE, ...}, ...". A value that is missing is empty.
func list(inner string) [][]assignment {
	parts, ok := listParts(inner)
	if !ok || len(parts) < 2 {
		return nil
	}
	names := parts[0]
	for _, n := range names {
		if n == "" || nameEnd(n) != len(n) {
			return nil
		}
	}
	out := make([][]assignment, 0, len(parts)-1)
	for _, values := range parts[1:] {
		if len(values) > len(names) {
			return nil
		}
		set := make([]assignment, len(names))
		for i, n := range names {
			set[i].name = n
			if i < len(values) {
				set[i].value = values[i]
			}
		}
		out = append(out, set)
	}
	return out
}

// listParts cuts at the commas outside of braces, and each braced part at the commas inside.
func listParts(inner string) ([][]string, bool) {
	var out [][]string
	for {
		part := strings.TrimLeft(inner, " \t")
		if body, found := strings.CutPrefix(part, "{"); found {
			body, after, closed := strings.Cut(body, "}")
			if !closed {
				return nil, false
			}
			var values []string
			for v := range strings.SplitSeq(body, ",") {
				values = append(values, trim(v))
			}
			out = append(out, values)
			if inner, found = strings.CutPrefix(trim(after), ","); !found {
				return out, trim(after) == ""
			}
			continue
		}
		if len(out) == 0 && part != inner {
			return nil, false // keepalived drops a name after a space
		}
		value, after, more := strings.Cut(part, ",")
		if value = trim(value); strings.ContainsAny(value, " \t\"'") {
			return nil, false
		}
		out = append(out, []string{value})
		if !more {
			return out, true
		}
		inner = after
	}
}
