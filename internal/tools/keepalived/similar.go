package keepalived

// similar is the keyword of a block's table that a word may be meant for: one letter is wrong, missing, too many or in the wrong place.
// Nothing is looked for in a vrrp_sync_group and in a track_file.
func similar[T any](word, of string, table map[string]keyword[T]) (like string) {
	if len(word) < 4 || of == "vrrp_sync_group" || of == "track_file" {
		return ""
	}
	for k := range table {
		if near(word, k) && (like == "" || k < like) {
			like = k
		}
	}
	return like
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
