package virtualrouter

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/vrrp"
)

// moveOf is the newest decision of a member that has changed who holds the address.
func moveOf(m *member) election.Decision {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := len(m.decisions) - 1; i >= 0; i-- {
		if d := m.decisions[i]; d.From.Address.IsValid() && d.From != d.To {
			return d
		}
	}
	return election.Decision{}
}

// The holder before, the one after and the one that only hears of it name the same cause, who had the address and who has it.
func TestEveryNodeNamesTheCause(t *testing.T) {
	refused := election.Fitness{Less: 255, Reason: "the health check fails: connection refused", Code: code.CheckRefused}
	held := election.Fitness{Out: true, Less: 255, Reason: "held by an operator: new kernel", Code: code.Held}
	for _, tt := range []struct {
		name    string
		does    func(t *testing.T, l *lan, h, other *member)
		code    code.Code
		cause   string // without the name; empty: any
		askedBy bool
		silent  bool // the former holder cannot know
	}{
		{
			name: "handover", code: code.Handover, cause: "uid 0 asked for a handover", askedBy: true,
			does: func(t *testing.T, _ *lan, h, _ *member) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				require.NoError(t, h.Elector.(*Elector).Handover(ctx, ""))
			},
		},
		{
			name: "drill", code: code.DrillHandover, cause: "uid 0 asked for a drill (handover)", askedBy: true,
			does: func(t *testing.T, _ *lan, h, _ *member) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				require.NoError(t, h.Elector.(*Elector).Handover(election.Because(ctx, code.DrillHandover, election.AskedToDrill("handover")), ""))
			},
		},
		{
			name: "apiserver refused", code: code.CheckRefused, cause: refused.Reason,
			does: func(_ *testing.T, _ *lan, h, _ *member) { h.SetFitness(refused) },
		},
		{
			name: "held", code: code.Held, cause: held.Reason, askedBy: true,
			does: func(_ *testing.T, _ *lan, h, _ *member) { h.SetFitness(held) },
		},
		{
			name: "stopped", code: code.Stopping, cause: "stopping",
			does: func(t *testing.T, _ *lan, h, _ *member) { require.NoError(t, h.stop()) },
		},
		{
			name: "dead", code: code.HolderSilent, silent: true,
			does: func(_ *testing.T, l *lan, h, _ *member) { l.isolate(h.self, true) },
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				l, h, others := talking(t)
				name := "node-" + h.self.String()
				tt.does(t, l, h, others[0])
				time.Sleep(2 * time.Second)
				taker := holder(t, 0, others...)
				told := others[:2:2]
				if !tt.silent {
					told = append(told, h)
				}
				for _, m := range told {
					d := moveOf(m)
					assert.Equal(t, tt.code, d.Code, "%s: %+v", m.self, d)
					assert.Equal(t, name, d.From.Name, m.self)
					if m != h || d.To.Address.IsValid() {
						assert.Equal(t, "node-"+taker.self.String(), d.To.Name, m.self)
					}
					if tt.cause != "" {
						assert.Equal(t, name+": "+tt.cause, d.Cause, m.self)
					}
					assert.Equal(t, map[bool]string{true: "uid 0 on " + name}[tt.askedBy], d.AskedBy, m.self)
				}
				if tt.silent {
					assert.Regexp(t, name+`: silent for [3-4][0-9]{2} ms`, moveOf(taker).Cause)
					assert.InDelta(t, 0.3, moveOf(taker).Away.Seconds(), 0.1)
					l.isolate(h.self, false)
				}
				stopAll(t, others...)
				if tt.name != "stopped" {
					require.NoError(t, h.stop())
				}
			})
		})
	}
}

// A node that was stopped, has come back and dies later has not been stopped again.
func TestLastWordIsForgottenOnceItsSenderIsBack(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		l.talk = true
		first := func(c *vrrp.Config) { c.Priority = 200 }
		a, b, c := l.start(t, nodeA, first), l.start(t, nodeB, nil), l.start(t, nodeC, nil)
		require.Equal(t, a, holder(t, 2*time.Second, a, b, c))
		require.NoError(t, a.stop())
		taker := holder(t, 2*time.Second, b, c)
		assert.Equal(t, code.Stopping, moveOf(taker).Code)
		a = l.start(t, nodeA, first)
		require.Equal(t, a, holder(t, 30*time.Second, a, b, c))
		l.isolate(nodeA, true)
		time.Sleep(2 * time.Second)
		for _, m := range []*member{b, c} {
			assert.Equal(t, code.HolderSilent, moveOf(m).Code, "%s: %+v", m.self, moveOf(m))
			assert.Regexp(t, `: silent for [0-9]+ ms$`, moveOf(m).Cause)
		}
		stopAll(t, a, b, c)
	})
}

// The first holder has taken the address from nobody.
func TestFirstHolderNamesItsStart(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, h, others := talking(t)
		h.mu.Lock()
		first, then := h.decisions[0], h.decisions[1]
		h.mu.Unlock()
		assert.Equal(t, []code.Code{code.Started, code.NobodyHeld}, []code.Code{first.Code, then.Code})
		assert.Equal(t, code.NobodyHeld, h.Status().Code)
		assert.Equal(t, election.Node{}, then.From)
		for _, o := range others {
			assert.Equal(t, code.HolderHeard, o.last().Code)
			assert.Equal(t, h.self, o.last().To.Address)
		}
		stopAll(t, append(others, h)...)
	})
}

// A node that refuses what the holder sends takes the address, too, and says why it heard nothing.
func TestTakerNamesWhatItHasRefused(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		h, others := three(t, l)
		time.Sleep(time.Second)
		o := others[0]
		l.mu.Lock()
		l.mute[[2]netip.Addr{h.self, o.self}], l.mute[[2]netip.Addr{h.self, others[1].self}] = true, true
		l.mu.Unlock()
		for range 40 {
			for _, m := range others {
				m.wire.rejected.Add(h.self, vrrp.RejectMAC, nil)
			}
			time.Sleep(10 * time.Millisecond)
		}
		taker := holder(t, 0, others...)
		d := moveOf(taker)
		assert.Equal(t, code.WrongKey, d.Code)
		assert.Equal(t, h.self.String()+": its advertisements are refused: hmac", d.Cause)
		assert.Equal(t, code.WrongKey, taker.Status().Code)
		assert.Equal(t, code.WrongKey, taker.Status().Rejected[0].Code)
		stopAll(t, append(others, h)...)
	})
}

func TestEveryReasonOfARefusalHasACode(t *testing.T) {
	for reason := range actOn {
		assert.NotEqual(t, code.Malformed, codeOf(reason), reason)
	}
	for reason := range actOnMembers {
		assert.NotEqual(t, code.Malformed, memberCodeOf(reason), reason)
	}
}

// An operator who holds a standby asks that node, and not the holder, and who resumes it has not started it.
func TestHoldAndResumeOfAStandbyNameTheNodeThatWasAsked(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, h, others := talking(t)
		standby := others[0]
		asked := "uid 0 on node-" + standby.self.String()
		newest := func() election.Decision {
			standby.mu.Lock()
			defer standby.mu.Unlock()
			return standby.decisions[len(standby.decisions)-1]
		}
		standby.SetFitness(election.Fitness{Out: true, Less: 255, Reason: "held by an operator", Code: code.Held})
		time.Sleep(time.Second)
		d := newest()
		assert.Equal(t, []any{election.Off, code.Held, asked}, []any{d.Role, d.Code, d.AskedBy})
		standby.SetFitness(election.Fitness{})
		time.Sleep(time.Second)
		d = newest()
		assert.Equal(t, []any{election.Standby, code.Resumed, "resumed by an operator", asked}, []any{d.Role, d.Code, d.Reason, d.AskedBy})
		s := standby.Status()
		assert.Equal(t, []any{code.Resumed, "resumed by an operator"}, []any{s.Code, s.Reason})
		stopAll(t, append(others, h)...)
	})
}

// A node whose checks keep it out shows what they say by now, and what it was when it is back.
func TestNodeThatIsOutShowsTheNewestCauseAndThenThatItIsBack(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, h, others := talking(t)
		m := others[0]
		m.SetFitness(election.Fitness{Out: true, Less: 255, Reason: "the health check fails: connection refused", Code: code.CheckRefused})
		time.Sleep(time.Second)
		m.SetFitness(election.Fitness{Out: true, Less: 255, Reason: "the health check fails: 500", Code: code.CheckStatus})
		time.Sleep(time.Second)
		s := m.Status()
		assert.Equal(t, []any{"the health check fails: 500", code.CheckStatus}, []any{s.Present, s.Code})
		for _, o := range h.Status().Members {
			if o.Address == m.self {
				assert.Equal(t, []any{"the health check fails: 500", code.CheckStatus}, []any{o.Unfit, o.Code}, "the others are told, too")
			}
		}
		m.SetFitness(election.Fitness{})
		time.Sleep(time.Second)
		assert.Equal(t, code.Returned, m.Status().Code)
		assert.Contains(t, m.Status().Reason, "the health check fails: 500")
		stopAll(t, append(others, h)...)
	})
}

// A member that the configuration keeps out is named with the remedy, in the status and as the cause of a takeover.
func TestTakerNamesTheMemberThatTheConfigurationKeepsOut(t *testing.T) {
	for reason, want := range map[members.Reason]code.Code{members.RejectPeer: code.NotAPeer, members.RejectTTL: code.BehindRouter} {
		bubble.Test(t, func(t *testing.T) {
			_, h, others := talking(t)
			e := others[0].Elector.(*Elector)
			for _, r := range []members.Received{{Source: h.self, Refused: reason, TTL: 254}} {
				e.in.refused.Add(r.Source, string(r.Refused), whyUnlisted(r))
			}
			list := others[0].Status().Rejected
			require.Len(t, list, 1)
			assert.Equal(t, want, list[0].Code)
			assert.True(t, list[0].Acute(time.Now()))
			d := e.blame(election.Decision{Role: election.Serve, Code: code.NobodyHeld})
			assert.Equal(t, want, d.Code)
			assert.Equal(t, h.self, d.From.Address)
			assert.Contains(t, d.Cause, "what it says is refused: it is a member of this address")
			stopAll(t, append(others, h)...)
		})
	}
}

// A node that boots while its switch port forwards nothing takes the address, and takes it from the holder when the port is open.
func TestNodeThatWasCutOffAtItsStartSaysWhatCuresIt(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		h := l.start(t, netip.MustParseAddr("10.77.0.11"), nil)
		time.Sleep(2 * time.Second)
		late := netip.MustParseAddr("10.77.0.12")
		l.isolate(late, true)
		o := l.start(t, late, nil)
		time.Sleep(2 * time.Second)
		require.Equal(t, code.NobodyHeld, o.Status().Code)
		l.isolate(late, false)
		time.Sleep(time.Second)
		s := o.Status()
		assert.Equal(t, []any{election.Active, code.ForwardedLate, lateText}, []any{s.State, s.Code, s.Present})
		stopAll(t, h, o)
	})
}

func TestMemberWithOtherAddressesIsNoOtherCluster(t *testing.T) {
	member, stranger := netip.MustParseAddr("10.77.0.12"), netip.MustParseAddr("10.77.0.99")
	list := []election.Rejection{{Source: member, Code: code.ForeignVRID}, {Source: stranger, Code: code.ForeignVRID}, {Source: member, Code: code.WrongKey}}
	nameOwn(list, []election.Member{{Address: member, State: election.Silent}})
	assert.Equal(t, []code.Code{code.AddressesVary, code.ForeignVRID, code.WrongKey}, []code.Code{list[0].Code, list[1].Code, list[2].Code})
}
