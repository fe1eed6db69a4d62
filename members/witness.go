package members

import (
	"cmp"
	"net/netip"
	"slices"
	"time"
)

const (
	// leastWitnesses is how many hosts have to be silent: of two nodes, either may be the one that is broken.
	leastWitnesses = 2
	// dropAfter is how many questions a host leaves unanswered that is no witness any more.
	dropAfter = 2
	// mostWitnesses bounds the questions, and what others can make a node remember.
	mostWitnesses = 6
	// witnessAgain is when a host that has answered is asked again, and witnessFor is for how long its last answer makes it a witness.
	witnessAgain, witnessFor = 10 * time.Second, 35 * time.Second
	// witnessSoon is the former while there are too few witnesses.
	witnessSoon = 3 * time.Second
	// witnessPause is the time between two such questions.
	witnessPause = time.Second
)

// witness is a host of the link that may be asked whether it is there.
type witness struct {
	address  netip.Addr
	mac      [6]byte   // which the address had last; zero: not known
	answered time.Time // when it answered last; zero: not, or not any more
	word     time.Time // when it said anything last; zero: never
	asked    time.Time // when it was asked last
	missed   int       // questions since it answered
}

// hosts are those of the link that may be asked whether they are there, and when one was asked last.
type hosts struct {
	list  []witness
	asked time.Time
}

// Know takes in that there is a host of the link that may answer. A host that was asked in vain, and is no witness, makes room for another.
func (h *Hearing) Know(a netip.Addr) { h.hosts.know(a, h.heard) }

// know returns what is known of that host; nil: there is no room for it.
func (h *hosts) know(a netip.Addr, heard time.Time) *witness {
	a = a.WithZone("")
	if w := h.find(a); w != nil || !a.IsValid() {
		return w
	}
	if len(h.list) < mostWitnesses {
		h.list = append(h.list, witness{address: a})
		return &h.list[len(h.list)-1]
	}
	i := slices.IndexFunc(h.list, func(w witness) bool { return w.missed >= dropAfter && !w.trusted(heard) })
	if i < 0 {
		return nil
	}
	h.list[i] = witness{address: a}
	return &h.list[i]
}

// meetAt takes in that an address was heard from a MAC, and returns its witness; nil: it is none. A host is one witness, however many addresses it
// has: a dead holder is silent at all of its virtual addresses.
func (h *hosts) meetAt(a netip.Addr, mac [6]byte, heard time.Time) *witness {
	w, known := h.find(a), mac != [6]byte{}
	if w != nil && (w.mac == mac || !known) {
		return w
	}
	if i := slices.IndexFunc(h.list, func(o witness) bool { return known && o.mac == mac }); i >= 0 {
		if w == nil || w.mac != [6]byte{} { // one more address of that host, or one that has moved to it
			h.forget(a)
			return nil
		}
		h.forget(h.list[i].address) // a is the host's own: it sends messages from there
	}
	if w = h.know(a, heard); w != nil {
		w.mac = mac
	}
	return w
}

func (h *hosts) forget(a netip.Addr) {
	a = a.WithZone("")
	h.list = slices.DeleteFunc(h.list, func(w witness) bool { return w.address == a })
}

func (h *hosts) find(a netip.Addr) *witness {
	a = a.WithZone("")
	if i := slices.IndexFunc(h.list, func(w witness) bool { return w.address == a }); i >= 0 {
		return &h.list[i]
	}
	return nil
}

// drop makes a host that was asked in vain while others were heard no witness any more. It is asked once more immediately where too few are left.
func (h *hosts) drop() {
	for i := range h.list {
		if w := &h.list[i]; w.missed >= dropAfter && !w.answered.IsZero() {
			w.answered, w.asked = time.Time{}, time.Time{}
		}
	}
}

// upkeep asks one of the hosts whose answer is long ago. With none there may be routers.
func (h *hosts) upkeep(now, heard time.Time) Question {
	if h.few(heard) {
		if q := h.meet(now); !q.None() {
			return q
		}
	}
	due := h.due(now, heard)
	if due == nil && (len(h.list) > 0 || now.Sub(h.asked) < witnessSoon) {
		return Question{}
	}
	h.asked = now
	if due == nil {
		return Question{Named: true}
	}
	q := h.ask(now, false, due.address)
	q.Named = true
	return q
}

// Others is a question, now, to all hosts but that one of which an answer can be expected: those that were there at that time, as whatever they have said
// shows, and that have not left since, as far as the caller knows. Their answers alone would not do: they may not reach this node. The zero Question: there
// are none.
func (h *Hearing) Others(than netip.Addr, there, now time.Time, left func(netip.Addr) bool) Question {
	var to []netip.Addr
	for _, w := range h.hosts.list {
		if w.address != than.WithZone("") && !w.word.IsZero() && there.Sub(w.word) < witnessFor && !left(w.address) {
			to = append(to, w.address)
		}
	}
	if len(to) == 0 {
		return Question{}
	}
	q := h.hosts.ask(now, false, to...)
	q.Named = true
	return q
}

// Due tells that Step would ask a host whose last word is long ago. It need not where the host has answered somebody else on this node meanwhile.
func (h *Hearing) Due(now time.Time) bool { return h.hosts.due(now, h.heard) != nil }

// due is the host that neither was asked nor has answered for the longest time; nil if that is not long.
func (h *hosts) due(now, heard time.Time) (due *witness) {
	if now.Sub(h.asked) < witnessPause {
		return nil
	}
	again := witnessAgain
	if h.few(heard) {
		again = witnessSoon
	}
	for i := range h.list {
		if w := &h.list[i]; now.Sub(w.spoken()) >= again && (due == nil || w.spoken().Before(due.spoken())) {
			due = w
		}
	}
	return due
}

// spoken is when the host was asked, or answered, last.
func (w *witness) spoken() time.Time { return later(w.asked, w.answered) }

// meet asks the hosts that were never asked, while there are too few witnesses: a node that becomes deaf before two have answered does not find out.
func (h *hosts) meet(now time.Time) Question {
	var fresh []netip.Addr
	for _, w := range h.list {
		if w.asked.IsZero() {
			fresh = append(fresh, w.address)
		}
	}
	if len(fresh) == 0 || now.Sub(h.asked) < roundGap {
		return Question{}
	}
	q := h.ask(now, false, fresh...)
	q.Named = true
	return q
}

func (h *hosts) ask(now time.Time, wide bool, to ...netip.Addr) Question {
	h.asked = now
	for _, a := range to {
		w := h.find(a)
		w.asked = now
		w.missed++
	}
	return Question{To: to, Wide: wide}
}

func (h *Hearing) gap(p Pace) time.Duration {
	if h.deaf {
		return askDeafEvery
	}
	return p.gap()
}

func (p Pace) gap() time.Duration { return cmp.Or(p.Gap, roundGap) }

// trusted are those that answered as long as anything was heard.
func (h *hosts) trusted(heard time.Time) (list []netip.Addr) {
	for i := range h.list {
		if h.list[i].trusted(heard) {
			list = append(list, h.list[i].address)
		}
	}
	return list
}

// few tells that there are too few of them. It is asked at each step of each Virtual Router.
func (h *hosts) few(heard time.Time) bool {
	n := 0
	for i := range h.list {
		if h.list[i].trusted(heard) {
			n++
		}
	}
	return n < leastWitnesses
}

func (w *witness) trusted(heard time.Time) bool {
	return !w.answered.IsZero() && heard.Sub(w.answered) < witnessFor
}
