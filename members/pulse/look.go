package pulse

import "time"

const (
	// mostEchoes is how many are sent before a node counts as one that does not answer, and echoGap is the time between two of them: packets are
	// lost, and a look must not be in vain for that.
	mostEchoes = 10
	echoGap    = time.Millisecond
)

// look is one look whether a node answers; the zero look is none.
type look struct {
	began     time.Time
	late      bool // a beat is late; otherwise it is only asked whether it would answer
	suspects  bool // it is late by the wait, or another member has asked: what is found counts, and is said
	sent      int
	last      time.Time // when the last echo was sent
	found     bool      // it does not answer
	ended     time.Time // since when that is known
	witnessed bool      // the witness has answered since
}

// begin begins a look because a beat is late, in place of one in peace.
func (l *look) begin(now time.Time) {
	if !l.late {
		*l = look{began: now, late: true}
	}
}

// suspect has what is found count.
func (l *look) suspect(now time.Time) {
	l.begin(now)
	l.suspects = true
}

// due is when there is something to do about a look that goes on.
func (l *look) due(settle time.Duration) time.Time {
	switch {
	case l.sent == 0:
		return l.began
	case l.sent >= mostEchoes:
		return l.last.Add(settle)
	case l.sent == 1 && !l.late:
		return l.last.Add(peaceTime)
	case !l.late:
		return l.last.Add(echoGap)
	}
	// A wakeup that is late does not make the look longer. After a standstill there are still some moments in which an answer may come.
	return later(l.began.Add(time.Duration(l.sent)*echoGap), l.last.Add(echoGap/2))
}

// tend does what is due about a node.
func (m *machine) tend(now time.Time, p *peer) {
	m.watch(now, p)
	m.lookAt(now, p)
	m.decide(now, p)
}

// watch begins a look at a holder whose beat is late, and now and then at one that beats.
func (m *machine) watch(now time.Time, p *peer) {
	switch {
	case !p.followed || !p.beating():
	case now.Sub(p.beat) >= silentFor:
		p.quiet()
	case p.look.suspects || p.gone:
	case p.able() && !now.Before(p.suspectAt(m.delays.wait(now))):
		p.look.suspect(now)
		m.act(send{Message{Type: Ask, About: p.address}})
	case p.look.late:
	case p.able() && !now.Before(p.lookFrom(m.delays.wait(now))):
		if p.tries++; p.tries > mostTries {
			p.quiet()
			return
		}
		p.look.begin(now)
	case p.look.began.IsZero() && !now.Before(p.peace.Add(peaceEvery)):
		p.peace, p.look = now, look{began: now}
	}
}

// lookAt sends an echo, if one is due, or finds that the node does not answer.
func (m *machine) lookAt(now time.Time, p *peer) {
	l := &p.look
	if l.began.IsZero() || l.found || now.Before(l.due(m.delays.settle(now))) {
		return
	}
	if l.sent < mostEchoes {
		l.sent, l.last = l.sent+1, now
		m.act(echo{p.address})
		if l.late && m.witness.IsValid() && len(m.others(now, p)) == 0 {
			m.act(echo{m.witness})
		}
		return
	}
	if !l.late {
		p.vain, p.look = now, look{}
		return
	}
	if !l.suspects {
		p.look = look{} // the wait has grown meanwhile: the evidence is to be of its end
		return
	}
	if !p.able() {
		p.clear() // it never answered, or does not although it beats: this node has nothing to say
		return
	}
	l.found, l.ended = true, now
	m.say(now, p, false)
}

// decide draws the conclusion from a look that was in vain.
func (m *machine) decide(now time.Time, p *peer) {
	l := &p.look
	if !l.found {
		return
	}
	others := m.others(now, p)
	agreed := p.agreed(others)
	all := len(agreed) > 0 && (len(agreed) == len(others) || !now.Before(l.ended.Add(waitForAll)))
	switch {
	case p.followed && all:
		m.conclude(now, p, Gone{Agreed: agreed})
	case p.followed && len(others) == 0 && l.witnessed:
		m.conclude(now, p, Gone{Witness: m.witness})
	case !now.Before(l.ended.Add(wordTime)):
		p.again = now.Add(againAfter)
		p.clear()
	}
}

func (m *machine) conclude(now time.Time, p *peer, g Gone) {
	g.Source, g.Since, g.Silent, g.Echoes = p.address, p.look.began, now.Sub(p.beat), p.look.sent
	g.Wait, p.gone = m.delays.wait(now), true
	p.clear()
	m.act(g)
}

// peerDue is when there is something to do about a node; zero for never.
func (m *machine) peerDue(now time.Time, p *peer) (next time.Time) {
	switch l := &p.look; {
	case l.began.IsZero():
	case !l.found:
		next = l.due(m.delays.settle(now))
	default:
		next = l.ended.Add(wordTime)
		if len(p.words) > 0 && now.Before(l.ended.Add(waitForAll)) {
			next = l.ended.Add(waitForAll)
		}
	}
	if !p.followed || !p.beating() {
		return next
	}
	next = sooner(next, p.beat.Add(silentFor))
	switch {
	case !p.able() || p.look.suspects:
	case p.look.late:
		next = sooner(next, p.suspectAt(m.delays.wait(now)))
	default:
		next = sooner(next, p.lookFrom(m.delays.wait(now)))
	}
	if p.look.began.IsZero() && !p.gone {
		next = sooner(next, p.peace.Add(peaceEvery))
	}
	return next
}
