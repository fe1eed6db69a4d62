package subscription

import (
	"cmp"
	"slices"
	"time"

	"github.com/keepvip/keepvip/members/slots"
)

// line is what one member says of one, itself perhaps.
type line struct {
	Member
	by *peer
}

// age is how old the word is that it goes by.
func (l line) age(now time.Time) time.Duration { return l.Age + now.Sub(l.by.heard) }

// fresh tells whether that word still counts: it is not older than its lifetime, or it was not when the member said so that is to say the next
// thing soon. With many followers a member speaks less often to each.
func (l line) fresh(now time.Time) bool {
	return l.Age < l.Lifetime && (l.age(now) < l.Lifetime || now.Sub(l.by.heard) < l.by.list.Every+grace)
}

// moments are when what a member has said stops to count.
func (p *peer) moments() (out []time.Time) {
	for _, o := range p.list.Members {
		out = append(out, p.heard.Add(o.Lifetime-o.Age))
	}
	return append(out, p.heard.Add(p.list.Every+grace))
}

// Picture is what all that tell this host say together; told is false while nobody does, and then it is what was known last. The newest word of
// a member counts, by whomever it comes. Of one whose words are all too old the others are believed when one of them says that its host is
// dead; otherwise it keeps what it has.
func (m *Machine) Picture(now time.Time) (all []Member, told bool) {
	var lines []line
	for _, p := range m.peers {
		if p.heard.IsZero() {
			continue
		}
		told = told || p.tells(now)
		for _, o := range p.list.Members {
			lines = append(lines, line{o, p})
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int { return a.Address.Compare(b.Address) })
	for len(lines) > 0 {
		n := slices.IndexFunc(lines, func(l line) bool { return l.Address != lines[0].Address })
		if n < 0 {
			n = len(lines)
		}
		if s, ok := m.state(now, lines[:n], told); ok {
			all = append(all, s)
		}
		lines = lines[n:]
	}
	return all, told
}

// state is one member, of what all say of it. A member of whom nobody speaks any more who tells this host is none.
func (m *Machine) state(now time.Time, lines []line, told bool) (Member, bool) {
	newest := func(a, b line) int { return cmp.Compare(a.age(now), b.age(now)) }
	var fresh, current []line
	for _, l := range lines {
		if l.fresh(now) {
			fresh = append(fresh, l)
		}
		if l.by.tells(now) {
			current = append(current, l)
		}
	}
	switch {
	case len(fresh) > 0:
		return expected(slices.MinFunc(fresh, newest), false), true
	case !told:
		return expected(slices.MinFunc(lines, newest), true), true
	case len(current) == 0:
		return Member{}, false
	}
	best := expected(slices.MinFunc(current, newest), true)
	dead := slices.ContainsFunc(current, func(l line) bool { return l.Dead() })
	for i := range best.Ports {
		best.Ports[i].Condition = min(best.Ports[i].Condition, slots.Keeps)
		if dead {
			best.Ports[i].Condition = slots.Dead
		}
	}
	return best, true
}

func expected(l line, silent bool) Member {
	l.Ports, l.Silent = slices.Clone(l.Ports), silent
	return l.Member
}
