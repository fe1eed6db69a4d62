package spread

import (
	"sync"

	"github.com/keepvip/keepvip/election"
)

// post is what a service's goroutine is to do, in the order in which it was told. Nobody waits who adds to it: the kernel may take seconds for
// what that goroutine is about, and those who tell it something decide about the address.
type post struct {
	news chan struct{} // capacity 1

	mu    sync.Mutex // guards calls
	calls []func(*server)
}

func newPost() *post { return &post{news: make(chan struct{}, 1)} }

func (p *post) add(call func(*server)) {
	p.mu.Lock()
	p.calls = append(p.calls, call)
	p.mu.Unlock()
	select {
	case p.news <- struct{}{}:
	default:
	}
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
