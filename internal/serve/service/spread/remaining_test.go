package spread

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
)

// left is what the node says of member 12.
func (b *bench) left() (n uint32, said bool) {
	b.t.Helper()
	own := b.elector.own()
	require.NotNil(b.t, own)
	if len(own.Left) == 0 {
		return 0, false
	}
	require.Equal(b.t, []election.Left{{Member: addr(12), Connections: own.Left[0].Connections}}, own.Left)
	return own.Left[0].Connections, true
}

func TestHolderThatMasqueradesSaysHowManyAreLeftOfAMemberThatGetsNone(t *testing.T) {
	inBubble(t, masquerading(), func(t *testing.T, b *bench) {
		b.elector.set(election.Member{Address: addr(11), Self: true, Node: "n1", State: election.Active})
		b.member(12, true)
		b.member(13, true)
		b.serve(5)
		b.begin()
		time.Sleep(settle + countEvery)
		assert.True(t, b.elector.own().Translates)
		_, said := b.left()
		assert.False(t, said, "it gets new ones")

		b.member(12, false)
		time.Sleep(2 * tick)
		_, said = b.left()
		assert.False(t, said, "nobody has counted since")
		time.Sleep(countRemaining + tick)
		n, said := b.left()
		assert.True(t, said)
		assert.Equal(t, uint32(5), n)
		b.serve(0)
		time.Sleep(countRemaining + tick)
		n, said = b.left()
		assert.True(t, said)
		assert.Zero(t, n)

		b.serve(7)
		time.Sleep(countRemainingFor + countEvery)
		n, _ = b.left()
		assert.Equal(t, uint32(7), n, "later it is counted more seldom")
		b.member(12, true)
		time.Sleep(2 * tick)
		_, said = b.left()
		assert.False(t, said, "it gets new ones again")
	})
}

func TestHolderSaysNothingOfConnectionsOfWhichTheKernelSaysNothing(t *testing.T) {
	inBubble(t, masquerading(), func(t *testing.T, b *bench) {
		b.elector.set(election.Member{Address: addr(11), Self: true, Node: "n1", State: election.Active})
		b.member(12, true)
		b.begin()
		time.Sleep(settle)
		b.onHost(func(h *fakeHost) { h.broken = assert.AnError })
		b.member(12, false)
		time.Sleep(countEvery)
		_, said := b.left()
		assert.False(t, said, "it may get new ones: the kernel has refused the change")
		b.onHost(func(h *fakeHost) { h.broken, h.uncounted = nil, assert.AnError })
		time.Sleep(countEvery)
		_, said = b.left()
		assert.False(t, said)
		b.onHost(func(h *fakeHost) { h.uncounted = nil })
		time.Sleep(countRemaining + tick)
		_, said = b.left()
		assert.True(t, said)
	})
}

func TestBackupThatMasqueradesSaysNothingOfConnections(t *testing.T) {
	inBubble(t, masquerading(), func(t *testing.T, b *bench) {
		b.member(12, false)
		b.begin()
		time.Sleep(settle + countEvery)
		assert.False(t, b.elector.own().Translates)
		assert.Empty(t, b.elector.own().Left)
	})
}

// holder has member 12 hold the address, and say that of this node.
func (b *bench) holder(translates bool, left ...election.Left) {
	b.host.set(addr(12), true)
	s := said(true)
	s.Translates, s.Left = translates, left
	b.elector.set(election.Member{Address: addr(12), Node: "n2", Spread: s, Fit: new(true), State: election.Active})
}

func TestServiceDrainWaitsForWhatTheHolderTranslates(t *testing.T) {
	inBubble(t, masquerading(), func(t *testing.T, b *bench) {
		b.holder(true)
		b.begin()
		time.Sleep(settle)
		b.service.Drain(time.Now().Add(time.Minute))
		time.Sleep(5 * time.Second)
		assert.True(t, b.busy(), "the holder has not counted since")
		b.holder(true, election.Left{Member: addr(13)}, election.Left{Member: addr(11), Connections: 2})
		time.Sleep(2 * countDraining)
		assert.True(t, b.busy())
		b.holder(true, election.Left{Member: addr(11)})
		time.Sleep(countDraining + tick)
		assert.False(t, b.busy())
	})
}

func TestServiceDrainDoesNotWaitForAHolderThatTranslatesNothing(t *testing.T) {
	inBubble(t, masquerading(), func(t *testing.T, b *bench) {
		b.holder(false)
		b.begin()
		time.Sleep(settle)
		b.service.Drain(time.Now().Add(time.Minute))
		time.Sleep(leastSettle + 2*countDraining)
		assert.False(t, b.busy(), "as one of an older version")
	})
}

// TestMemberSaysHowManyConnectionsItsOwnProgramsHave, on whichever node holds the address: who is drained cannot tell them from others.
func TestMemberSaysHowManyConnectionsItsOwnProgramsHave(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.member(12, true)
		b.member(13, true)
		b.serve(5)
		b.begin()
		time.Sleep(settle + countEvery)
		assert.True(t, b.elector.own().Translates)
		_, said := b.left()
		assert.False(t, said, "it gets new ones")
		b.member(12, false)
		time.Sleep(countRemaining + 2*tick)
		n, said := b.left()
		assert.True(t, said)
		assert.Equal(t, uint32(5), n)
		assert.Zero(t, b.service.Status().Spread.Members[0].Connections, "they are no connections of this node's")
	})
}

// translator has member 12 say how many connections its own programs have to other members.
func (b *bench) translator(left ...election.Left) {
	b.host.set(addr(12), true)
	s := said(true)
	s.Translates, s.Left = true, left
	b.elector.set(election.Member{Address: addr(12), Node: "n2", Spread: s, Fit: new(true)})
}

func TestServiceDrainWaitsForTheConnectionsOfOtherMembersPrograms(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.translator()
		b.member(13, true) // of an older version
		b.begin()
		time.Sleep(settle)
		b.service.Drain(time.Now().Add(time.Minute))
		time.Sleep(5 * time.Second)
		assert.True(t, b.busy(), "it has not counted since")
		b.translator(election.Left{Member: addr(11), Connections: 1})
		time.Sleep(2 * countDraining)
		assert.True(t, b.busy())
		b.translator(election.Left{Member: addr(11)})
		time.Sleep(countDraining + tick)
		assert.False(t, b.busy())
	})
}

// TestServiceDrainDoesNotWaitForASilentMember: it says nothing more, however many connections it has.
func TestServiceDrainDoesNotWaitForASilentMember(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.translator(election.Left{Member: addr(11), Connections: 3})
		b.begin()
		time.Sleep(settle)
		b.elector.silence(addr(12))
		time.Sleep(time.Second)
		b.service.Drain(time.Now().Add(time.Minute))
		time.Sleep(leastSettle + 2*countDraining)
		assert.False(t, b.busy())
	})
}
