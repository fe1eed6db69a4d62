package config

import "strings"

// instead is the remedy for an unknown name: the nearest known one, or all of them.
func instead(name string, known []string) string {
	best, near := "", 3
	for _, k := range known {
		if d := distance(strings.ToLower(clip(name)), strings.ToLower(k)); d < near && d < len(k) {
			best, near = k, d
		}
	}
	if best != "" {
		return "did you mean " + best + "?"
	}
	return "want one of " + strings.Join(known, ", ")
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
