package config

import (
	"slices"
	"strings"
)

// Nearest is the one of the known names that a misspelt one may stand for, or "".
func Nearest(name string, known []string) string {
	best, near := "", 3
	for _, k := range known {
		if d := distance(strings.ToLower(clip(name)), strings.ToLower(k)); d < near && d < len(k) {
			best, near = k, d
		}
	}
	return best
}

// instead is the remedy for an unknown name: the nearest known one, or all of them.
func instead(name string, known []string) string {
	if best := Nearest(name, known); best != "" {
		return "did you mean " + best + "?"
	}
	return "want one of " + strings.Join(known, ", ")
}

// keyInstead is the remedy for an unknown key of a section: the nearest one there, the place where a key of that name belongs, or all keys there.
func keyInstead(name string, s *section) string {
	if Nearest(name, s.names()) != "" {
		return instead(name, s.names())
	}
	if kinds := s.lookup("kind"); s.name == checksKey && slices.Contains(strings.Split(kinds.option.kind, "|"), name) {
		return "want kind: " + name
	}
	const few = 2 // a name such as interval belongs to many places, and none of them is likely
	if at := sections().places(name, ""); len(at) > 0 && len(at) <= few {
		return "want it as " + strings.Join(at, " or ")
	}
	return instead(name, s.names())
}

// places are the keys of that name below s, also by the name that their flag has, such as vrid.
func (s *section) places(name, above string) []string {
	var out []string
	for _, c := range s.children {
		key := above + c.name
		if c.list {
			key += "[]"
		}
		if strings.EqualFold(c.name, name) || c.option != nil && c.option.Flag != "" && c.option.Flag == strings.ToLower(name) {
			out = append(out, key)
			continue
		}
		out = append(out, c.places(name, key+".")...)
	}
	return out
}

// distance is the Levenshtein distance of two short names.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := corner
			if a[i] != b[j] {
				cost++
			}
			corner = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
