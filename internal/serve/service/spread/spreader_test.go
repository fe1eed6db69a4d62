package spread

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSpreaderSaysNothingTwiceAndNothingAfterItsTerm(t *testing.T) {
	e := newElector()
	s := &spreader{elector: e}
	s.say(nil)
	assert.Zero(t, e.times(), "a node that has said nothing does not spread")
	s.say(said(true))
	s.say(said(true))
	assert.Equal(t, 1, e.times())
	s.end()
	assert.Nil(t, e.own())
	s.say(said(true))
	assert.Nil(t, e.own())
	assert.Equal(t, 2, e.times())
}
