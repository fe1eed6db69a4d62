package pulse

import (
	"maps"
	"net/netip"
	"slices"
	"time"
)

// peer is what is known of another node.
type peer struct {
	address  netip.Addr
	groups   map[netip.Addr]time.Time // it is a member of each until then, if it says nothing more
	until    time.Time                // the latest of these
	followed bool                     // it is a holder that is watched here

	session uint64
	beat    time.Time // when the newest beat arrived; zero: it does not beat
	number  uint32    // that one's
	every   time.Duration
	heard   int // beats, of this session and since it has begun to beat

	answered time.Time // when its kernel answered an echo last; zero: never, or not since it has fallen silent
	vain     time.Time // when a look that nothing was wrong for has found no answer; zero: its kernel has answered since
	mute     bool      // its beats came after that: what echoes tell of it counts for nothing
	peace    time.Time // when it was sent an echo last though nothing was wrong

	look  look
	again time.Time // no look begins before that
	tries int       // looks since the newest beat
	gone  bool      // it was found to be gone, and nothing was heard of it since
	words []word
	said  time.Time // when this node has said last how it is
}

// word is what another member has said about a node.
type word struct {
	from  netip.Addr
	there bool
	at    time.Time
}

// silentFor is after how long without a beat a node counts as one that does not beat: VRRP has decided by then, or it has another release.
const silentFor = time.Second

func (p *peer) member(now time.Time) bool { return now.Before(p.until) }

// meet takes in for how long the node is a member of a group; 0: not any more. An entry that a reload takes away does not end what its node is to others.
func (p *peer) meet(now time.Time, group netip.Addr, lifetime time.Duration) {
	if p.groups == nil {
		p.groups = map[netip.Addr]time.Time{}
	}
	p.groups[group], p.until = now.Add(lifetime), time.Time{}
	maps.DeleteFunc(p.groups, func(_ netip.Addr, until time.Time) bool { return !now.Before(until) })
	for _, until := range p.groups {
		p.until = later(p.until, until)
	}
}

func (p *peer) beating() bool { return !p.beat.IsZero() }

// follow says whether the node is a holder that is watched here. It is looked at afresh then: it may have been let alone for long.
func (p *peer) follow(on bool) {
	if on && !p.followed {
		p.answered, p.peace = time.Time{}, time.Time{}
	}
	p.followed = on
}

// quiet forgets that the node beats.
func (p *peer) quiet() {
	p.beat, p.heard, p.look, p.words = time.Time{}, 0, look{}, nil
	p.mute, p.vain, p.gone, p.tries, p.again, p.answered = false, time.Time{}, false, 0, time.Time{}, time.Time{}
}

// beats takes in a beat, and tells how late it was where that is known.
func (p *peer) beats(b Message, at time.Time) (late time.Duration, known bool) {
	same := b.Session == p.session
	more := int32(b.Number - p.number)
	if same && more <= 0 {
		return 0, false
	}
	before, every := p.beat, p.every
	p.session, p.number, p.every = b.Session, b.Number, b.Every
	if b.Last {
		p.quiet()
		return 0, false
	}
	if !same {
		p.heard = 0
	}
	p.heard++
	p.beat, p.gone, p.tries = at, false, 0
	p.mute = p.mute || !p.vain.IsZero() && at.After(p.vain)
	if p.look.late && !at.Before(p.look.began) {
		p.mute = p.mute || p.look.found // ten echoes were lost, or it hears nothing
		p.clear()
	}
	if !same || before.IsZero() || p.heard <= fewBeats {
		return 0, false
	}
	late = at.Sub(before) - time.Duration(more)*every
	return late, late > 0
}

// clear ends a look, and what was said about it.
func (p *peer) clear() { p.look, p.words = look{}, nil }

// overdue is when the next beat is late by so much.
func (p *peer) overdue(wait time.Duration) time.Time { return p.beat.Add(p.every + wait) }

// suspectAt is when the beat is so late, by the wait, that the others are asked.
func (p *peer) suspectAt(wait time.Duration) time.Time { return later(p.overdue(wait), p.again) }

// lookFrom is when the echoes begin: half of the wait before its end, and never sooner than they need, so they have mostly left when it ends. A kernel
// that answers one of them ends the look, and nobody else hears of it.
func (p *peer) lookFrom(wait time.Duration) time.Time {
	return later(p.overdue(wait-min(wait/2, mostEchoes*echoGap)), p.again)
}

// fresh tells that the beats come. One that should be here in this moment may come yet, and that is no more than a guess.
func (p *peer) fresh(now time.Time) bool {
	return p.beating() && now.Before(p.overdue(LeastWait/2))
}

// able tells that the node can be judged: its beats came, and its kernel has answered.
func (p *peer) able() bool {
	return p.heard >= fewBeats && !p.answered.IsZero() && !p.mute && !p.gone
}

// say takes in what a member says. That the node is there ends the look.
func (p *peer) say(from netip.Addr, there bool, at time.Time) {
	if there {
		if p.look.late && !at.Before(p.look.began) {
			p.clear()
		}
		if again := at.Add(againAfter); again.After(p.again) {
			p.again = again
		}
		return
	}
	p.words = slices.DeleteFunc(p.words, func(w word) bool { return w.from == from || at.Sub(w.at) > wordTime })
	p.words = append(p.words, word{from, there, at})
}

// agreed are those of the members who have found lately that the node is gone, by address.
func (p *peer) agreed(members []*peer) (list []netip.Addr) {
	for _, w := range p.words {
		spoke := slices.ContainsFunc(members, func(o *peer) bool { return o.address == w.from })
		if spoke && w.at.After(p.look.began.Add(-wordTime)) {
			list = append(list, w.from)
		}
	}
	slices.SortFunc(list, netip.Addr.Compare)
	return list
}

// answer takes in that the kernel of the node has answered, and tells whether that was looked for because something was wrong.
func (p *peer) answer(at time.Time) (news bool) {
	if at.After(p.answered) {
		p.answered = at
	}
	if p.look.began.IsZero() || at.Before(p.look.began) {
		return false
	}
	news = p.look.suspects
	p.mute, p.vain = false, time.Time{}
	if p.look.late {
		p.again = at.Add(againAfter)
	}
	p.clear()
	return news
}
