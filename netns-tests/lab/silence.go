package lab

import "time"

// BySilence is how often from the instant on a node began to advertise addresses when the one before it had not advertised for three of its
// intervals: it has to, and that is no more than a dead holder's due.
func (r *Report) BySilence(from time.Duration) int {
	type router struct {
		vrid int
		v6   bool
	}
	last, most := map[router]Advert{}, map[router]int{}
	n := 0
	for _, a := range r.Adverts {
		if a.Priority == 0 {
			continue
		}
		k := router{a.VRID, a.Source.Is6()}
		if before, ok := last[k]; ok && a.At >= from && before.Node != a.Node && a.At-before.At >= 3*before.Interval {
			most[k]++
			n = max(n, most[k])
		}
		last[k] = a
	}
	return n
}
