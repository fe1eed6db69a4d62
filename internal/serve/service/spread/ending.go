package spread

import (
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/internal/config"
)

const (
	// EndsWithin is for how long connections go on at most after they are not spread any more.
	EndsWithin = lifetime
	// leastEnding is for how long they do at least: what members say of their connections may be as old as that.
	leastEnding = 3 * countEvery
	// endsSuffix is behind the name of a table whose ports are not spread any more. No check has such a name.
	endsSuffix = ".-ends"
)

// takesNone is why a member gets nothing of what ends.
const takesNone = "it is not spread any more"

// Ending is a port that is not spread any more, while its connections go on.
type Ending struct {
	config.SpreadPort
	Until time.Time // at most; zero: it is spread yet
}

// ending is what a table has to know whose ports are not spread any more. New connections are the holder's, as without spreading.
type ending struct {
	begun, until time.Time // until is the zero Time of a table whose ports are spread
	base         slotTable // who had which slot when it began
}

func (e ending) ends() bool { return !e.until.IsZero() }

// endingTables are the tables of what is not spread any more once these ports are. What goes by masquerade ends at once.
func endingTables(now time.Time, tables []*table, ports []config.SpreadPort) (out []*table) {
	for _, t := range tables {
		left := t.without(ports)
		if len(left) == 0 || t.applied == nil || t.applied.Masquerade {
			continue
		}
		e := t
		if !t.ends() {
			if e = named(tables, t.name+endsSuffix); e == nil {
				e = &table{slots: t.slots}
			}
			left = append(e.without(ports), left...)
			e.ending = ending{begun: now, until: now.Add(EndsWithin), base: t.slots}
		}
		e.portSet = portSet{name: strings.TrimSuffix(t.name, endsSuffix) + endsSuffix, check: t.check, ports: left}
		if !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out
}

// finished tells that a table has ended. elsewhere: another member has connections to its ports.
func (t *table) finished(now time.Time, elsewhere bool) bool {
	if !t.ends() || !now.Before(t.until) {
		return t.ends()
	}
	here := t.count > 0 || !t.counted.After(t.begun)
	return !here && !elsewhere && !now.Before(t.begun.Add(leastEnding))
}
