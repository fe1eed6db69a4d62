package spread

import (
	"sync"

	"github.com/keepvip/keepvip/election"
)

// post is what a service's goroutine is to do, in the order in which it was told. Nobody waits who adds to it: the kernel may take seconds for
// what that goroutine is about, and those who tell it something decide about the address.
type post struct {
	news chan struct{} // capacity 1

	mu     sync.Mutex // guards what follows
	calls  []func(*server)
	closed bool // nobody takes anything any more
}

func newPost() *post { return &post{news: make(chan struct{}, 1)} }

// add tells whether it will be done: nothing is any more once the service has ended.
func (p *post) add(call func(*server)) bool {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return false
	}
	p.calls = append(p.calls, call)
	p.mu.Unlock()
	select {
	case p.news <- struct{}{}:
	default:
	}
	return true
}

// closeEmpty ends it, unless something is to be done yet.
func (p *post) closeEmpty() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = p.closed || len(p.calls) == 0
	return p.closed
}

// close ends it, whatever is left.
func (p *post) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed, p.calls = true, nil
}

// take empties it.
func (p *post) take() []func(*server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	calls := p.calls
	p.calls = nil
	return calls
}

// voice is what this node tells the other members of itself, in one term. When the term ends it says that this node spreads no more, and then
// nothing: whoever ends it does not wait for what goes on in the kernel.
type voice struct {
	mu      sync.Mutex        // guards elector
	elector election.Spreader // nil: the term is over
}

func (v *voice) say(s *election.Spread) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.elector != nil {
		v.elector.SetSpread(s)
	}
}

func (v *voice) end() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.elector != nil {
		v.elector.SetSpread(nil)
	}
	v.elector = nil
}
