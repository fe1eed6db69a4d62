package keepalived

import (
	"maps"
	"slices"
)

// similar finds the keyword of a block that a word may be meant for: one letter is wrong, missing, too many or in the wrong place.
func (r *reader) similar(word, of string) string {
	known, ok := r.known[of]
	if !ok {
		known = slices.Sorted(maps.Keys(words(of)))
		r.known[of] = known
	}
	for _, k := range known {
		if len(word) > 3 && near(word, k) {
			return k
		}
	}
	return ""
}

// words are the keywords of a block; of those that are not listed nothing is said.
func words(of string) map[string]bool {
	out := map[string]bool{}
	switch of {
	case "":
		addWords(out, rootKeywords())
	case "global_defs":
		addWords(out, globalKeywords())
	case "vrrp_instance":
		addWords(out, instanceKeywords())
	case "vrrp_script":
		addWords(out, scriptKeywords())
	case "vrrp_track_process":
		addWords(out, processKeywords())
	case "authentication":
		return map[string]bool{"auth_type": true, "auth_pass": true}
	}
	return out
}

func addWords[T any](to map[string]bool, table map[string]keyword[T]) {
	for w := range table {
		to[w] = true
	}
}

// near says whether one change makes a of b.
func near(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch len(b) - len(a) {
	case 0:
		return i == len(a) || a[i+1:] == b[i+1:] || i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
	case 1:
		return a[i:] == b[i+1:]
	}
	return false
}
