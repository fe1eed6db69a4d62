package virtualrouter

import (
	"strings"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/spare"
	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/vrrp"
)

// inlet takes in what arrives for an elector, and counts what is refused. All but what it counts belongs to Run.
type inlet struct {
	wire    Wire
	members MembersWire          // nil: there is no members' protocol
	refused *election.Rejections // of the members' messages

	inbox    []Arrival
	mail     []members.Received
	voices   []Voice
	listened time.Time // when the newest of the voices that were taken was heard
}

// mailed is a level: members have said something.
func (i *inlet) mailed() <-chan struct{} {
	if i.members == nil {
		return nil
	}
	return i.members.Arrived()
}

// messages takes what the members have said. What was refused is counted, and what the mode enforce would refuse.
func (i *inlet) messages() []members.Received {
	if i.members == nil {
		return nil
	}
	if i.mail == nil {
		i.mail = mails.Lend()
	}
	i.mail = i.members.Take(i.mail[:0])
	for _, r := range i.mail {
		switch {
		case r.Refused == members.RejectPeer, r.Refused == members.RejectTTL:
			i.refused.Add(r.Source, string(r.Refused), whyUnlisted(r))
		case r.Refused != "":
			i.refused.Add(r.Source, string(r.Refused), nil)
		case r.Doubt != "":
			i.refused.Add(r.Source, string(r.Doubt)+election.Permitted, nil)
		}
	}
	return i.mail
}

// adverts takes the advertisements that have come in and are for this Virtual Router.
func (i *inlet) adverts(router vrrp.Config) []Arrival {
	i.inbox = i.wire.Take(i.inbox[:0])
	out := i.inbox[:0]
	for _, a := range i.inbox {
		if err := router.Match(a.Source, a.Advertisement); err != nil {
			i.wire.Rejections().Add(a.Source, reasonOf(err), err)
			continue
		}
		out = append(out, a)
	}
	return out
}

// hear takes what hosts of the link have said since then.
func (i *inlet) hear(ears Ears, since time.Time) []Voice {
	if i.voices == nil {
		i.voices = heardVoices.Lend()
	}
	i.voices = ears.Heard(i.voices[:0], since)
	for _, v := range i.voices {
		i.listened = later(i.listened, v.At)
	}
	return i.voices
}

// What electors have taken in is theirs for one step.
var (
	mails       spare.Slices[members.Received]
	heardVoices spare.Slices[Voice]
)

// giveBack follows each step.
func (i *inlet) giveBack() {
	mails.Back(i.mail)
	heardVoices.Back(i.voices)
	i.mail, i.voices = nil, nil
}

// membersRejected counts by reason what the wire has refused, and what was taken that the mode enforce would refuse.
func (i *inlet) membersRejected() map[string]uint64 {
	if i.members == nil {
		return nil
	}
	out := map[string]uint64{}
	for reason, n := range i.members.Rejected() {
		out[string(reason)] = n
	}
	for reason, n := range i.refused.Counts() { // the rest of these are the wire's, as far as it passes them on
		if strings.HasSuffix(reason, election.Permitted) {
			out[reason] = n
		}
	}
	return out
}

// explain says of a split what only the socket knows: that the advertisements arrive, and are refused.
func (i *inlet) explain(s *election.Split) {
	if s.Cause != causeFiltered && s.Cause != causeDeaf {
		return
	}
	for _, r := range i.wire.Rejections().List() {
		if r.Source.WithZone("") == s.Address && r.Remedy != "" && time.Since(r.Last) < election.LogEvery {
			s.Code, s.Cause, s.Remedy = r.Code, "its advertisements are refused: "+r.Text, r.Remedy
			return
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
