package raft

import (
	"time"

	"github.com/hashicorp/raft"
)

// beat is the time between two heartbeats. One of which the network loses a packet still arrives within the lease of the one
// before: TCP sends it again after 200 ms, at the default timeout of 500 ms.
func beat(heartbeat time.Duration) time.Duration { return heartbeat * 2 / 5 }

// await spaces heartbeats. The library makes one every tenth to every fifth of the heartbeat timeout; a lease, which lasts
// nine tenths, needs fewer. And those to all members leave at the same moments: what an idle leader costs is mostly waking up.
// It is false when those to this member are not spaced.
func (t *transport) await(id raft.ServerID) bool {
	t.mu.Lock()
	now := time.Now()
	if now.Before(t.rough[id]) {
		t.mu.Unlock()
		return false
	}
	number := t.number(now)
	if last, ok := t.beats[id]; ok {
		number = max(number, last+1)
	}
	t.beats[id] = number
	t.mu.Unlock()
	t.rest(now, number)
	return true
}

// accompany has a call leave with the next heartbeat.
func (t *transport) accompany(id raft.ServerID) {
	t.mu.Lock()
	now := time.Now()
	rough := now.Before(t.rough[id])
	t.mu.Unlock()
	if !rough {
		t.rest(now, t.number(now)+1)
	}
}

// number is that of the newest heartbeat.
func (t *transport) number(now time.Time) int64 { return int64(now.Sub(t.began) / beat(t.heartbeat)) }

// rest waits until a heartbeat is due.
func (t *transport) rest(now time.Time, number int64) {
	at := t.began.Add(time.Duration(number) * beat(t.heartbeat))
	if !now.Before(at) {
		return
	}
	timer := t.clock.Timer()
	defer timer.Stop()
	timer.Set(at)
	select {
	case <-timer.C:
	case <-t.done:
	}
}

// roughen ends the spacing for a while after a call that was late: where packets are lost, each of them may take two fifths of the
// heartbeat timeout or more, and the next call must not begin late, too.
func (t *transport) roughen(id raft.ServerID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rough[id] = time.Now().Add(roughFor * t.heartbeat)
}

// roughFor is for how many heartbeat timeouts a late call is remembered.
const roughFor = 20

// whole is the newest whole multiple of every on the clock: most of what this process does now and then it does at such moments.
func whole(now time.Time, every time.Duration) time.Time {
	return now.Add(-time.Duration(now.UnixNano() % int64(every)))
}

// nextWhole is the next one.
func nextWhole(now time.Time, every time.Duration) time.Time { return whole(now, every).Add(every) }
