package virtualrouter

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
)

// notes is what was done, in order.
type notes []string

func (n *notes) of(text string) func() { return func() { *n = append(*n, text) } }

func TestAgendaDoesWhatAStepBeginsBeforeTheRest(t *testing.T) {
	var a agenda
	var done notes
	a.begin()
	a.last(func() {
		done.of("one")()
		a.first(done.of("two"), func() { a.first(done.of("three")) })
		a.act(endLease{})
	}, done.of("four"))
	assert.Equal(t, []action{endLease{}}, a.run())
	assert.Equal(t, notes{"one", "two", "three", "four"}, done)
	a.begin()
	assert.Empty(t, a.run(), "the next step has asked for nothing")
}

func TestAgendaWaitsForAnOutcome(t *testing.T) {
	var a agenda
	var done notes
	a.begin()
	a.last(func() {
		a.ask(drain{}, func(r response) {
			done.of("answer: " + r.err.Error())()
			a.first(done.of("what follows"))
		})
	}, done.of("rest"))
	assert.Equal(t, []action{drain{}}, a.run())
	assert.Empty(t, done)

	a.begin()
	a.beside(func() {
		done.of("beside")()
		a.first(done.of("of that"))
		a.act(endLease{})
	})
	assert.Equal(t, []action{endLease{}}, a.actions)
	assert.Equal(t, notes{"beside", "of that"}, done, "the rest waits")
	a.putOff(done.of("put off"))

	a.begin()
	a.respond(response{err: errors.New("refused")})
	assert.Empty(t, a.run())
	assert.Equal(t, notes{"beside", "of that", "put off", "answer: refused", "what follows", "rest"}, done)
}
