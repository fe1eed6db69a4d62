package raft

import (
	"net/netip"
	"sync"
	"time"
)

// causeTime is for how long the word of a leader explains the changes that follow.
const causeTime = 3 * time.Second

// cause is why leadership is being passed on, as the leader that does so has said. Safe for concurrent use.
type cause struct {
	mu   sync.Mutex // guards what follows
	text string
	at   time.Time
}

// note remembers a leader's word.
func (c *cause) note(from netip.Addr, reason string) {
	if reason == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text, c.at = from.String()+": "+reason, time.Now()
}

// now is why leadership moves at this moment; empty when nobody has said so.
func (c *cause) now(now time.Time) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.at) > causeTime {
		return ""
	}
	return c.text
}
