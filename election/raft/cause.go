package raft

import "time"

// causeTime is for how long the word of a leader explains the changes that follow.
const causeTime = 3 * time.Second

// cause is why leadership is being passed on, as the leader that does so has said.
type cause struct {
	text string
	at   time.Time
}

// noteCause remembers a leader's word. The caller holds no lock.
func (n *Node) noteCause(from, reason string) {
	if reason == "" {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.moving = cause{text: from + ": " + reason, at: time.Now()}
}

// causeNow is why leadership moves at this moment; empty when nobody has said so.
func (n *Node) causeNow(now time.Time) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now.Sub(n.moving.at) > causeTime {
		return ""
	}
	return n.moving.text
}
