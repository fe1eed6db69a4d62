package virtualrouter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/vrrp"
)

// Between two holders a node knows of none: the next one is explained by the last.
func TestFormerHolderExplainsTheNext(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	heard, known := senders{}, roster{}
	k := facts{now: at, source: nodeA, priority: 100, interval: interval, activeInterval: interval, heard: &heard, roster: &known}
	var f former
	assert.Equal(t, code.HolderHeard, f.following(k, election.Node{}.Address, nodeB).code, "nobody had it before")

	heard.hear(nodeB, 100, 4*interval, at)
	k.now = at.Add(4 * interval)
	assert.Equal(t, code.HolderSilent, f.following(k, nodeB, election.Node{}.Address).code)
	assert.Equal(t, at, f.at, "it was there when it was heard last")

	k.now = at.Add(5 * interval)
	take := turn{from: election.Backup, to: election.Active, reason: vrrp.ReasonSilence, after: nodeA}
	w := f.explain(k, take)
	assert.Equal(t, code.HolderSilent, w.code)
	assert.Equal(t, nodeB, w.from.Address)
	assert.Equal(t, nodeA, w.to.Address)
	assert.Equal(t, 5*interval, w.away)

	bye := members.Received{Source: nodeB, Message: members.Message{Peer: members.PeerState{Self: members.Self{Code: code.Stopping, Reason: "stopping"}, Node: "b"}}}
	known.keepWord(k.now, bye)
	w = f.explain(k, take)
	assert.Equal(t, code.Stopping, w.code, "its last word came after its last advertisement")
	assert.Equal(t, "b: stopping", w.cause)
}

func TestFactsSayWhyANodeGivesUp(t *testing.T) {
	k := facts{source: nodeA, name: "a", heard: &senders{}, roster: &roster{}}
	assert.Equal(t, why{code: code.Group}, k.giving("group web: db is not Active here"))
	k.fitness = election.Fitness{Out: true, Reason: "no link"}
	assert.Equal(t, why{code: code.BindRefused, cause: "a: no link"}, k.giving("no link"))
	k.stop = &stop{Code: code.Stopping, Reason: "stopping"}
	assert.Equal(t, why{code: code.Stopping, cause: "a: stopping"}, k.giving("stopping"))
	assert.Equal(t, why{code: code.HigherPriority, cause: "a: no link"}, k.giving(vrrp.ReasonPassedOn))
	assert.Equal(t, why{code: code.StoodStill}, k.giving(vrrp.ReasonFrozen))
}
