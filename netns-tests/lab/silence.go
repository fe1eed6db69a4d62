package lab

import "time"

// BySilence is how often from the instant on a node began to advertise addresses when the one before it had not advertised for three of its
// intervals: it has to, and that is no more than a dead holder's due.
func (r *Report) BySilence(from time.Duration) int { return r.silences(from, true) }

// Silences is the same, also where the one that had ceased to advertise went on by itself: it may have yielded the addresses, as nobody knew better.
func (r *Report) Silences(from time.Duration) int { return r.silences(from, false) }

func (r *Report) silences(from time.Duration, moved bool) int {
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
		if before, ok := last[k]; ok && a.At >= from && (before.Node != a.Node || !moved) && a.At-before.At >= 3*before.Interval {
			most[k]++
			n = max(n, most[k])
		}
		last[k] = a
	}
	return n
}
