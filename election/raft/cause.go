package raft

import (
	"sync"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
)

// causeTime is for how long the word of a leader explains the changes that follow.
const causeTime = 3 * time.Second

// word is why a node does something, for people and for machines.
type word struct {
	code code.Code
	text string
}

// cause is why leadership is being passed on, as the leader that does so has said. Safe for concurrent use.
type cause struct {
	mu   sync.Mutex // guards what follows
	from election.Node
	word word
	at   time.Time
}

// note remembers a leader's word.
func (c *cause) note(from election.Node, w word) {
	if w.text == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.from, c.word, c.at = from, w, time.Now()
}

// now is why leadership moves at this moment, and who has said so; the zero word when nobody has.
func (c *cause) now(now time.Time) (election.Node, word) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.at) > causeTime {
		return election.Node{}, word{}
	}
	return c.from, c.word
}
