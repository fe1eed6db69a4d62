package local

import "github.com/keepvip/keepvip/election"

var _ election.Spreader = (*Elector)(nil)

// SetSpread implements election.Spreader. Without Talk nobody hears of it.
func (e *Elector) SetSpread(s *election.Spread) {
	if e.talk != nil {
		e.talk.SetSpread(s)
	}
}

// Members implements election.Spreader.
func (e *Elector) Members() []election.Member { return e.Status().Members }

// MembersChanged implements election.Spreader.
func (e *Elector) MembersChanged() <-chan struct{} {
	if e.talk == nil {
		return nil
	}
	return e.talk.MembersChanged()
}
