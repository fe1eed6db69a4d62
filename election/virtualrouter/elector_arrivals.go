package virtualrouter

import (
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/spare"
	"github.com/keepvip/keepvip/members"
)

func (e *Elector) mailed() <-chan struct{} {
	if e.cfg.Members == nil {
		return nil
	}
	return e.cfg.Members.Wire.Arrived()
}

// messages takes what the members have said. What was refused is counted, and what the mode enforce would refuse.
func (e *Elector) messages() []members.Received {
	if e.cfg.Members == nil {
		return nil
	}
	if e.mail == nil {
		e.mail = mails.Lend()
	}
	e.mail = e.cfg.Members.Wire.Take(e.mail[:0])
	for _, r := range e.mail {
		switch {
		case r.Refused == members.RejectPeer, r.Refused == members.RejectTTL:
			e.refused.Add(r.Source, string(r.Refused), whyUnlisted(r))
		case r.Refused != "":
			e.refused.Add(r.Source, string(r.Refused), nil)
		case r.Doubt != "":
			e.refused.Add(r.Source, string(r.Doubt)+election.Permitted, nil)
		}
	}
	return e.mail
}

// adverts takes the advertisements that have come in and are for this Virtual Router.
func (e *Elector) adverts() []Arrival {
	e.inbox = e.wire.Take(e.inbox[:0])
	out := e.inbox[:0]
	for _, a := range e.inbox {
		if err := e.cfg.Router.Match(a.Source, a.Advertisement); err != nil {
			e.wire.Rejections().Add(a.Source, reasonOf(err), err)
			continue
		}
		out = append(out, a)
	}
	return out
}

// listen takes what hosts of the link have said, where somebody was asked or is to be asked: this process does not wake up for it.
func (e *Elector) listen() []Voice {
	if e.cfg.Ears == nil {
		return nil
	}
	now := time.Now()
	e.mu.Lock()
	hearing := &e.machine.hearing
	hearing.Share(e.cfg.Ears.Sound(hearing.Heard()))
	asked, due := hearing.Asked(), hearing.Due(now)
	e.mu.Unlock()
	since := e.listened
	if !due {
		if asked.IsZero() || now.Sub(asked) > listenFor {
			return nil
		}
		since = later(since, asked.Add(-members.QuestionGap))
	}
	if e.voices == nil {
		e.voices = heardVoices.Lend()
	}
	e.voices = e.cfg.Ears.Heard(e.voices[:0], since)
	for _, v := range e.voices {
		e.listened = later(e.listened, v.At)
	}
	return e.voices
}

// listenFor is how long after a question answers to it are looked for.
const listenFor = 3 * time.Second

// What electors have taken in is theirs for one step.
var (
	mails       spare.Slices[members.Received]
	heardVoices spare.Slices[Voice]
)

// giveBack follows each step.
func (e *Elector) giveBack() {
	mails.Back(e.mail)
	heardVoices.Back(e.voices)
	e.mail, e.voices = nil, nil
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
