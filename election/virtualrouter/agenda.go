package virtualrouter

import "slices"

// agenda is what is still to be done of a machine's step, in order, and what the step asks for. What is done may put more before the
// rest, so nothing is begun in the midst of something else; where the outcome of an action decides how to go on, the rest waits for it.
type agenda struct {
	todo    []func()       // what comes next is at the end, so that the list is used again and again
	answer  func(response) // goes on when the last action has been answered; nil: nothing waits
	late    []func()       // what was put off meanwhile
	actions []action       // of this step so far
}

// begin begins a step, or goes on with one, which has asked for nothing yet.
func (a *agenda) begin() { a.actions = nil }

// first puts work before everything that is still to be done.
func (a *agenda) first(work ...func()) {
	for _, do := range slices.Backward(work) {
		a.todo = append(a.todo, do)
	}
}

// last puts work after everything else.
func (a *agenda) last(work ...func()) {
	for _, do := range work {
		a.todo = slices.Insert(a.todo, 0, do)
	}
}

// act asks for an action whose outcome does not matter to what follows.
func (a *agenda) act(wanted action) { a.actions = append(a.actions, wanted) }

// ask asks for an action whose outcome decides how to go on.
func (a *agenda) ask(wanted action, then func(response)) {
	a.act(wanted)
	a.answer = then
}

// run does what can be done without an answer, and returns what this step asks for.
func (a *agenda) run() []action {
	for len(a.todo) > 0 && a.answer == nil {
		a.next()
	}
	return a.actions
}

func (a *agenda) next() {
	next := len(a.todo) - 1
	do := a.todo[next]
	a.todo[next] = nil
	a.todo = a.todo[:next]
	do()
}

// respond gives the outcome to what waits for it. What was put off comes before.
func (a *agenda) respond(r response) {
	answer, late := a.answer, a.late
	a.answer, a.late = nil, nil
	a.first(append(late, func() { answer(r) })...)
}

// putOff keeps work until the outcome that is waited for is there.
func (a *agenda) putOff(work func()) { a.late = append(a.late, work) }

// beside does work, and what that puts on the agenda, while the rest waits.
func (a *agenda) beside(work func()) {
	waiting := a.todo
	a.todo = []func(){work}
	for len(a.todo) > 0 {
		a.next()
	}
	a.todo = waiting
}
