package raft

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// pacing spaces the heartbeats of a leader. The library makes one every tenth to every fifth of the heartbeat timeout; a lease,
// which lasts nine tenths, needs fewer. And those to all members leave at the same moments: what an idle leader costs is mostly
// waking up. Safe for concurrent use.
type pacing struct {
	heartbeat time.Duration // the heartbeat timeout
	began     time.Time     // heartbeat 0

	mu    sync.Mutex                  // guards what follows
	beats map[raft.ServerID]int64     // the number of the newest heartbeat to each
	rough map[raft.ServerID]time.Time // until when those to each are not spaced
}

func newPacing(heartbeat time.Duration) *pacing {
	return &pacing{
		heartbeat: heartbeat, began: whole(time.Now(), heartbeat),
		beats: map[raft.ServerID]int64{}, rough: map[raft.ServerID]time.Time{},
	}
}

// beat is the time between two heartbeats. One of which the network loses a packet still arrives within the lease of the one
// before: TCP sends it again after 200 ms, at the default timeout of 500 ms.
func beat(heartbeat time.Duration) time.Duration { return heartbeat * 2 / 5 }

// roughFor is for how many heartbeat timeouts a late call is remembered.
const roughFor = 20

// next is when the next heartbeat to a member is due; false when those to it are not spaced.
func (p *pacing) next(now time.Time, to raft.ServerID) (time.Time, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Before(p.rough[to]) {
		return now, false
	}
	number := int64(now.Sub(p.began) / beat(p.heartbeat))
	if last, ok := p.beats[to]; ok {
		number = max(number, last+1)
	}
	p.beats[to] = number
	return p.began.Add(time.Duration(number) * beat(p.heartbeat)), true
}

// wait waits until then. It is false when the heartbeats to the member are not spaced.
func (p *pacing) wait(to raft.ServerID, done <-chan struct{}) bool {
	now := time.Now()
	at, spaced := p.next(now, to)
	if !now.Before(at) {
		return spaced
	}
	timer := time.NewTimer(at.Sub(now))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-done:
	}
	return spaced
}

// note ends the spacing for a while after a call that failed or was late: where packets are lost, each of them may take two fifths
// of the heartbeat timeout or more, and the next call must not begin late, too.
func (p *pacing) note(to raft.ServerID, took time.Duration, err error) {
	if err == nil && took <= p.heartbeat/10 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rough[to] = time.Now().Add(roughFor * p.heartbeat)
}

// whole is the newest whole multiple of every on the clock: most of what this process does now and then it does at such moments.
func whole(now time.Time, every time.Duration) time.Time {
	return now.Add(-time.Duration(now.UnixNano() % int64(every)))
}

// untilWhole is how long it is until the next one.
func untilWhole(every time.Duration) time.Duration {
	now := time.Now()
	return whole(now, every).Add(every).Sub(now)
}
