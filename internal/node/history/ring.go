package history

const (
	// maxRecords is how many transitions are kept.
	maxRecords = 200
	// maxFaults is how many of them are faults at most, once there are too many: what comes and goes must not push the moves out.
	maxFaults = maxRecords / 4
)

// ring is the newest lines, the oldest first. It is pure. Of a virtual address that moves again and again the oldest go first, so that it does
// not push the others out: for one address alone these are the last [maxRecords].
type ring struct {
	lines []line
	last  uint64 // number of the newest that there ever was
}

// add takes a line, and returns the one that had to go for it.
func (r *ring) add(l line) (gone line, full bool) {
	r.last = max(r.last, l.number)
	r.lines = append(r.lines, l)
	if len(r.lines) <= maxRecords {
		return line{}, false
	}
	at := r.victim()
	gone = r.lines[at]
	r.lines = append(r.lines[:at], r.lines[at+1:]...)
	return gone, true
}

// victim is the oldest line of the virtual address that has the most; of several with as many, of the one whose line is the oldest. While
// there are many faults, it is one of them.
func (r *ring) victim() int {
	count, faults := map[string]int{}, map[string]int{}
	all := 0
	for _, l := range r.lines {
		count[l.vip]++
		if l.fault {
			faults[l.vip]++
			all++
		}
	}
	if all > maxFaults {
		count = faults
	}
	at := -1
	for i, l := range r.lines {
		if (all <= maxFaults || l.fault) && (at < 0 || count[l.vip] > count[r.lines[at].vip]) {
			at = i
		}
	}
	return at
}

// after returns the lines with a higher number, the oldest first, and at most so many.
func (r *ring) after(number uint64, most int) []line {
	var out []line
	for _, l := range r.lines {
		if l.number > number && len(out) < most {
			out = append(out, l)
		}
	}
	return out
}
