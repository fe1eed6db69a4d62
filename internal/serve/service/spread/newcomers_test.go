package spread

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

const saidNew = "a member is new, and neither a key nor spread.members says that it is one"

// Without a key whoever is on the link can say a HELLO, and gets connections by it: that a member was not there before is all that can be seen.
func TestServiceSaysThatAMemberIsNewWhereNothingProvesIt(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*setup)
		said   int
	}{
		"neither a key nor a list": {func(*setup) {}, 1},
		"a key":                    {func(c *setup) { c.keyed = true }, 0},
		"no key yet":               {func(c *setup) { c.keyed = false }, 1},
		"a list":                   {func(c *setup) { c.Spread.Members = []netip.Addr{addr(11), addr(12), addr(13), addr(66)} }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := spreadOne()
			c.change(&cfg)
			inBubble(t, cfg, func(t *testing.T, b *bench) {
				b.member(12, true)
				b.begin()
				time.Sleep(newcomerAfter / 2)
				b.member(13, true) // as a node that starts later than this one
				time.Sleep(newcomerAfter)
				assert.Zero(t, b.log.lines(saidNew), "who was there, or came with the others")

				b.member(66, true)
				time.Sleep(settle + tick)
				assert.Equal(t, c.said, b.log.lines(saidNew))
				assert.Equal(t, c.said, b.log.lines("code="+string(code.NewMember)))
				shown := b.service.Status().Spread.Newcomers
				require.Len(t, shown, c.said)
				if c.said > 0 {
					assert.Equal(t, addr(66), shown[0].Address)
				}
			})
		})
	}
}

// A member that was there before is none that is new, whatever became of it meanwhile.
func TestServiceSaysNothingOfAMemberThatReturns(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.member(12, true)
		b.begin()
		time.Sleep(newcomerAfter + time.Second)
		b.elector.remove(addr(12))
		b.host.set(addr(12), false)
		time.Sleep(forgetSilent + time.Minute)
		b.member(12, true)
		time.Sleep(time.Minute)
		assert.Zero(t, b.log.lines(saidNew))
		b.begin() // another term learns nobody unseen
		b.member(66, true)
		time.Sleep(time.Minute)
		assert.Equal(t, 1, b.log.lines(saidNew))
	})
}

func TestNewcomersAreBoundedAndShownForADay(t *testing.T) {
	var n newcomers
	begun := time.Unix(1000, 0)
	n.begin(begun)
	now := begun.Add(newcomerAfter)
	invented := func(i int) *member {
		return &member{address: netip.AddrFrom4([4]byte{10, 99, byte(i >> 8), byte(i)}), heard: true}
	}
	for i := range 2 * mostRemembered {
		require.Len(t, n.look(now, []*member{invented(i)}, false), 1)
	}
	assert.Len(t, n.shown, mostNewcomers)
	assert.Len(t, n.known, mostRemembered)
	assert.Empty(t, n.look(now, []*member{invented(0)}, false), "it was said")
	assert.Empty(t, n.look(now, []*member{{address: addr(12)}}, false), "it was never heard")
	n.look(now.Add(newcomerAge), nil, false)
	assert.Equal(t, []instance.SpreadNewcomer{}, n.shown)
}
