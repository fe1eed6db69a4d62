package raft

import (
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/assert"
)

func TestVoteLockAllows(t *testing.T) {
	const hold = 500 * time.Millisecond
	epoch := time.Unix(1000, 0)
	follow := func(p *voteLock) { p.follow(epoch, 5, "leader") }
	for _, c := range []struct {
		name  string
		made  func(*voteLock)
		after time.Duration
		term  uint64
		who   string
		want  bool
	}{
		{"nobody followed", func(*voteLock) {}, 0, 6, "b", true},
		{"just started", func(p *voteLock) { p.begin(epoch, hold) }, hold - 1, 6, "b", false},
		{"started a heartbeat ago", func(p *voteLock) { p.begin(epoch, hold) }, hold, 6, "b", true},
		{"started with a longer one before", func(p *voteLock) { p.begin(epoch, 3*hold) }, 2 * hold, 6, "b", false},
		{"follows another", follow, hold - 1, 6, "b", false},
		{"has followed another", follow, hold, 6, "b", true},
		{"the leader itself", follow, 0, 6, "leader", true},
		{"let go", func(p *voteLock) { follow(p); p.letGo(release{5, "b"}) }, 0, 6, "b", true},
		{"let go for another", func(p *voteLock) { follow(p); p.letGo(release{5, "c"}) }, 0, 6, "b", false},
		{"let go, but a term later", func(p *voteLock) { follow(p); p.letGo(release{5, "b"}) }, 0, 7, "b", false},
		{"let go before a newer leader", func(p *voteLock) { follow(p); p.letGo(release{5, "b"}); p.follow(epoch, 6, "c") }, 0, 6, "b", false},
		{"let go by a former leader", func(p *voteLock) { follow(p); p.letGo(release{4, "b"}) }, 0, 5, "b", false},
		{"an older leader adds nothing", func(p *voteLock) { follow(p); p.follow(epoch.Add(hold), 4, "old") }, hold, 6, "b", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := voteLock{hold: hold}
			c.made(&p)
			assert.Equal(t, c.want, p.allows(epoch.Add(c.after), c.term, raft.ServerID(c.who)))
		})
	}
}

func TestVoteLockMayStandAtOnceOnlyOnTheLeadersWord(t *testing.T) {
	epoch := time.Unix(1000, 0)
	p := voteLock{hold: time.Second}
	p.follow(epoch, 5, "leader")
	assert.False(t, p.mayStandAtOnce("me"))
	p.letGo(release{5, "me"})
	assert.True(t, p.mayStandAtOnce("me"))
	assert.True(t, p.mayStand(epoch, 6, "me", time.Hour))
	p.follow(epoch, 6, "next")
	assert.False(t, p.mayStandAtOnce("me"), "a request that was delayed")
	assert.False(t, p.mayStand(epoch, 7, "me", 0))
	assert.False(t, p.mayStand(epoch.Add(time.Second), 7, "me", time.Second), "reluctant")
	assert.True(t, p.mayStand(epoch.Add(2*time.Second), 7, "me", time.Second))
}
