package spread

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/members/slots"
)

// A node that is cut off finds all others silent, and none of their hosts answers.
func TestRosterIsSureOfADeath(t *testing.T) {
	const every = 100 * time.Millisecond
	type at struct {
		n       byte
		last    time.Duration // before now; 0: it is heard
		witness bool
		mute    bool // it does not say that it spreads
	}
	for name, tt := range map[string]struct {
		others   []at // beside member 12, which was heard last a second ago
		attached time.Duration
		sure     bool
	}{
		"nobody else is there":                                 {sure: true},
		"nobody else is there, and the carrier was gone since": {attached: 500 * time.Millisecond},
		"another is heard":                                     {[]at{{n: 13}}, 0, true},
		"another is heard since the carrier was gone":          {[]at{{n: 13}}, 500 * time.Millisecond, true},
		"another fell silent just before":                      {[]at{{n: 13, last: time.Second + every}}, 0, false},
		"another fell silent just after":                       {[]at{{n: 13, last: time.Second - every}}, 0, false},
		"another fell silent later":                            {[]at{{n: 13, last: time.Second - 3*every}}, 0, true},
		"another has been dead for a while":                    {[]at{{n: 13, last: time.Minute}}, 0, true},
		"two fell silent at one moment, and one is heard":      {[]at{{n: 13, last: time.Second}, {n: 14}}, 0, true},
		"all three fell silent at one moment":                  {[]at{{n: 13, last: time.Second}, {n: 14, last: time.Second}}, 0, false},
		"a witness is heard":                                   {[]at{{n: 13, witness: true}}, 500 * time.Millisecond, true},
		"a witness fell silent, too":                           {[]at{{n: 13, last: time.Second, witness: true}}, 0, false},
		"one that does not spread is heard":                    {[]at{{n: 13, mute: true}}, 500 * time.Millisecond, true},
		"one that does not spread fell silent, too":            {[]at{{n: 13, last: time.Second, mute: true}}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			r := roster{pace: pace{every}, self: addr(11)}
			r.attach(now.Add(-time.Hour), attachment{2, 0})
			list := []election.Member{{Address: addr(11), Self: true}, spreads(addr(12))}
			for _, o := range tt.others {
				m := spreads(addr(o.n))
				if m.Witness = o.witness; o.witness || o.mute {
					m.Spread = nil
				}
				list = append(list, m)
			}
			for i := range list {
				list[i].LastHeard = now.Add(-time.Second)
				if i >= 2 {
					list[i].LastHeard = now.Add(-tt.others[i-2].last)
				}
				at := list[i].LastHeard
				r.hear(at, list[i:i+1])
			}
			if tt.attached != 0 {
				r.attach(now.Add(-tt.attached), attachment{2, 1})
			}
			list[1].State = election.Silent
			r.hear(now, list)
			r.all[0].missed = unanswered
			r.declareDead()
			assert.True(t, r.all[0].dead)
			assert.Equal(t, tt.sure, r.sure(r.all[0]))
		})
	}
}

// All others seem to have died when this node has lost its network. Its programs' connections to them may go on when it is back.
func TestServiceThatIsCutOffLeavesOwnConnections(t *testing.T) {
	cfg, f := spreadOne(), &fakeFollowers{wanted: true}
	cfg.followers = f
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		b.member(12, true)
		b.member(13, true)
		b.begin()
		time.Sleep(settle)
		for _, n := range []byte{12, 13} {
			b.host.set(addr(n), false)
			b.elector.silence(addr(n))
			time.Sleep(40 * time.Millisecond) // each says something at another moment
		}
		time.Sleep(2 * time.Second)
		assert.Equal(t, map[string]int{"10.77.0.11 fit": 120, "10.77.0.12 dead": 0, "10.77.0.13 dead": 0}, b.shares())
		assert.Empty(t, b.host.plane("api").endedOwn)
		_, _, told := f.look()
		assert.Equal(t, slots.Keeps, told.Members[1].Ports[0].Condition, "nor do followers end theirs")

		b.elector.mu.Lock()
		delete(b.elector.frozen, addr(13))
		b.elector.mu.Unlock()
		b.member(13, true)
		time.Sleep(time.Second)
		assert.Equal(t, [][]netip.Addr{{addr(12)}}, b.host.plane("api").endedOwn, "the one is heard, and the other is not")
		_, _, told = f.look()
		assert.Equal(t, slots.Dead, told.Members[1].Ports[0].Condition)
	})
}

// A member that is dead for sure only after a long cut is not forgotten before.
func TestServiceThatWasCutOffForLongEndsOwnConnections(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.member(12, true)
		b.member(13, true)
		b.begin()
		time.Sleep(settle)
		for _, n := range []byte{12, 13} {
			b.host.set(addr(n), false)
			b.elector.silence(addr(n))
		}
		time.Sleep(2 * forgetSilent)
		assert.Equal(t, map[string]int{"10.77.0.11 fit": 120, "10.77.0.12 dead": 0, "10.77.0.13 dead": 0}, b.shares())
		assert.Empty(t, b.host.plane("api").endedOwn)

		b.elector.mu.Lock()
		delete(b.elector.frozen, addr(13))
		b.elector.mu.Unlock()
		b.member(13, true)
		time.Sleep(time.Second)
		assert.Equal(t, [][]netip.Addr{{addr(12)}}, b.host.plane("api").endedOwn)
		time.Sleep(forgetDead)
		assert.Equal(t, map[string]int{"10.77.0.11 fit": 60, "10.77.0.13 fit": 60}, b.shares())
		assert.Len(t, b.host.plane("api").endedOwn, 1)
	})
}

// While this node had lost its network no host answered it, also one that lives and whose keepvip is down.
func TestServiceThatWasCutOffAsksAgainWhoIsDead(t *testing.T) {
	cfg, f := spreadOne(), &fakeFollowers{wanted: true}
	cfg.followers = f
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		b.member(12, true)
		b.member(13, true)
		b.begin()
		time.Sleep(settle)
		for _, n := range []byte{12, 13} {
			b.host.set(addr(n), false)
			b.elector.silence(addr(n))
		}
		time.Sleep(2 * time.Second)
		assert.Equal(t, map[string]int{"10.77.0.11 fit": 120, "10.77.0.12 dead": 0, "10.77.0.13 dead": 0}, b.shares())
		b.host.set(addr(12), true)
		b.elector.mu.Lock()
		delete(b.elector.frozen, addr(13))
		b.elector.mu.Unlock()
		b.member(13, true)
		for range 50 {
			time.Sleep(tick)
			_, _, told := f.look()
			require.Equal(t, slots.Keeps, told.Members[1].Ports[0].Condition)
		}
		assert.Equal(t, map[string]int{"10.77.0.11 fit": 60, "10.77.0.12 keeps": 0, "10.77.0.13 fit": 60}, b.shares())
		assert.Empty(t, b.host.plane("api").endedOwn)
	})
}

// With two members the own link says which of them is cut off. A port of a switch may pass nothing for 30 s after the carrier is back.
func TestServiceWhoseCarrierWasGoneLeavesOwnConnections(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.member(12, true)
		b.begin()
		time.Sleep(settle)
		b.host.set(addr(12), false)
		b.elector.silence(addr(12))
		time.Sleep(interval)
		b.service.HostChanged(instance.Place{Index: 2, Name: "eth0", Source: addr(11), MAC: "02:00:00:00:00:0b", Stay: 2})
		time.Sleep(2 * time.Second)
		assert.Equal(t, map[string]int{"10.77.0.11 fit": 120, "10.77.0.12 dead": 0}, b.shares())
		assert.Empty(t, b.host.plane("api").endedOwn)
	})
}

// What this host lacks, as file descriptors or its link, says nothing of another host.
func TestServiceThatCannotAskTakesNobodyForDead(t *testing.T) {
	inBubble(t, spreadOne(), func(t *testing.T, b *bench) {
		b.member(12, true)
		b.begin()
		time.Sleep(settle)
		b.onHost(func(h *fakeHost) { h.down, h.there[addr(12)] = assert.AnError, false })
		b.elector.silence(addr(12))
		time.Sleep(2 * time.Second)
		assert.Equal(t, map[string]int{"10.77.0.11 fit": 120, "10.77.0.12 keeps": 0}, b.shares())
		assert.Equal(t, mostLines, b.log.lines("cannot be asked"))
		b.onHost(func(h *fakeHost) { h.down = nil })
		time.Sleep(2 * unanswered * askAgain)
		assert.Equal(t, map[string]int{"10.77.0.11 fit": 120, "10.77.0.12 dead": 0}, b.shares())
	})
}
