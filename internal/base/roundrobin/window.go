package roundrobin

// Window is the part of all that is due in a round, at most n of them: after as many rounds as there are parts each was due once. It shares the memory
// of all.
func Window[T any](all []T, n int, round int64) []T {
	if len(all) <= n {
		return all
	}
	windows := int64((len(all) + n - 1) / n)
	from := int(((round%windows)+windows)%windows) * n
	return all[from:min(from+n, len(all)):min(from+n, len(all))]
}
