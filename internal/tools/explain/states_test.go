package explain

import (
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/base/state"
	"github.com/keepvip/keepvip/internal/check/health"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

var (
	noon    = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	n1      = netip.MustParseAddr("10.0.0.11")
	n2      = netip.MustParseAddr("10.0.0.12")
	n3      = netip.MustParseAddr("10.0.0.13")
	yes, no = true, false
)

func past(d time.Duration) time.Time { return noon.Add(-d) }

func other(a netip.Addr, node string, state election.State, priority uint8) election.Member {
	return election.Member{Address: a, Node: node, State: state, Priority: priority, Fit: &yes, LastHeard: past(40 * time.Millisecond)}
}

// standing is n2 of three as a standby, with the changes that make another state of it.
func standing(changes ...func(*instance.Status)) instance.Status {
	s := instance.Status{
		Name: "apiserver", Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.100/32")}, Interface: "eth0", VRID: 51, Preempt: true,
		State: backup, Desired: instance.Available, Observed: instance.ObservedStandby, Holder: n1.String(), Since: past(time.Hour),
		Reason: "higher priority heard", Code: code.HigherPriority, Eligible: true, Priority: 100,
		Checks: []instance.CheckStatus{{Name: "apiserver", Verdict: health.Verdict{State: health.Healthy, Reason: "200", Since: past(2 * time.Hour)}}},
		Fence:  instance.FenceStatus{Standing: true}, Takers: instance.Takers{Count: 2, Nodes: 3},
		Members: []election.Member{
			{Address: n2, Node: "n2", Self: true, State: election.Backup, Priority: 100, Fit: &yes},
			other(n1, "n1", election.Active, 150), other(n3, "n3", election.Backup, 100),
		},
		Last: &instance.Transition{
			At: past(192 * time.Second), Code: code.HolderSilent, Cause: "n3: silent for 387 ms",
			OldHolder: election.Node{Address: n3, Name: "n3"}, NewHolder: election.Node{Address: n1, Name: "n1"},
		},
	}
	for _, change := range changes {
		change(&s)
	}
	return s
}

// held makes n2 the holder.
func held(s *instance.Status) {
	s.State, s.Observed, s.Holder, s.Since = active, instance.ObservedActive, n2.String(), past(192*time.Second)
	s.Reason, s.Code = "no advertisement heard for the Active_Down_Interval", code.HolderSilent
	s.Members[0].State, s.Members[1].State = election.Active, election.Backup
	s.Last.NewHolder = election.Node{Address: n2, Name: "n2"}
	s.Last.Cause = "n1: silent for 387 ms"
}

// unfit makes the check of n2 fail.
func unfit(reason string, of code.Code) func(*instance.Status) {
	return func(s *instance.Status) {
		s.Observed, s.Eligible, s.Unfit, s.Priority = instance.ObservedIneligible, false, "the check apiserver fails: "+reason, 1
		s.Why = &instance.Why{Code: of, Reason: s.Unfit}
		s.Checks[0] = instance.CheckStatus{Name: "apiserver", Verdict: health.Verdict{State: health.Unhealthy, Reason: reason, Code: of, Since: past(5 * time.Second)}}
		s.Members[0].Fit, s.Members[0].Priority = &no, 1
		s.Takers.Count = 1
	}
}

// fault puts n2 out of its election.
func fault(reason string, of code.Code) func(*instance.Status) {
	return func(s *instance.Status) {
		s.State, s.Observed, s.Holder, s.Reason, s.Code, s.Unfit = initialize, instance.ObservedFault, "", reason, of, reason
		s.Eligible, s.Priority, s.Members, s.Interface, s.Fence = false, 0, nil, "", instance.FenceStatus{}
		s.Why, s.Takers, s.Last, s.Since = &instance.Why{Code: of, Reason: reason}, instance.Takers{Nodes: 1}, nil, past(time.Minute)
	}
}

// wanted has an operator want n2 otherwise.
func wanted(d instance.Desired, observed instance.Observed) func(*instance.Status) {
	return func(s *instance.Status) {
		s.Desired, s.Observed, s.Eligible, s.Unfit = d, observed, false, string(d)+" by an operator: new kernel"
		s.Held = &state.Hold{Since: past(time.Minute), Reason: "new kernel"}
		s.Takers.Count = 1
	}
}

// silentFor makes a member silent.
func silentFor(i int, d time.Duration) func(*instance.Status) {
	return func(s *instance.Status) {
		m := &s.Members[i]
		m.Silence()
		m.LastHeard = past(d)
		s.Takers.Count--
	}
}

func rejected(reason, text, remedy string) func(*instance.Status) {
	return func(s *instance.Status) {
		s.Rejected = append(s.Rejected, election.Rejection{
			Source: n3, Reason: reason, Text: text, Remedy: remedy, Code: code.WrongKey, Count: 7, Last: past(time.Second),
		})
	}
}

// states are those that an operator meets, each under the name of its file in testdata.
func states() map[string]instance.Status {
	return map[string]instance.Status{
		"active":                 standing(held),
		"active-unfit":           standing(held, unfit("connection refused", code.CheckRefused), func(s *instance.Status) { s.Observed = instance.ObservedActive }),
		"standby-lower-priority": standing(),
		"standby-equal-priority": standing(func(s *instance.Status) { s.Members[1].Priority = 100 }),
		"standby-preempt-off":    standing(func(s *instance.Status) { s.Members[1].Priority, s.Preempt = 50, false }),
		"standby-preempts":       standing(func(s *instance.Status) { s.Members[1].Priority = 50 }),
		"standby-raft":           standing(func(s *instance.Status) { s.VRID, s.Preempt = 0, false }),
		"standby-nobody-heard": standing(func(s *instance.Status) {
			s.Holder, s.Reason, s.Code, s.Last = "", "started", code.Started, nil
		}, silentFor(1, 3*time.Second)),
		"standby-probing":          standing(func(s *instance.Status) { s.Unfit, s.Why = probing.Reason, &probing }),
		"ineligible-check-refused": standing(unfit("connection refused", code.CheckRefused)),
		"ineligible-check-500":     standing(unfit("500", code.CheckStatus)),
		"ineligible-check-timeout": standing(unfit("timeout after 600ms in the TLS handshake", code.CheckTimeout)),
		"ineligible-check-unknown": standing(unfit("", code.CheckUnknown), func(s *instance.Status) { s.Checks[0].State, s.Checks[0].Since = health.Unknown, time.Time{} }),
		"ineligible-bind-refused": standing(func(s *instance.Status) {
			s.Observed, s.Eligible, s.Why, s.Unfit = instance.ObservedIneligible, false, &bindRefused, bindRefused.Reason
		}),
		"held":               standing(wanted(instance.Held, instance.ObservedHeld)),
		"drained":            standing(wanted(instance.Drained, instance.ObservedIneligible)),
		"draining":           standing(held, wanted(instance.Drained, instance.ObservedDraining)),
		"fault-no-interface": standing(fault("no interface named eth7", code.InterfaceMissing)),
		"fault-silenced":     standing(held, silencedHolder),
		"fault-no-quorum":    standing(noQuorum),
		"split":              standing(held, func(s *instance.Status) { s.Splits = []election.Split{split} }),
		"conflict":           standing(func(s *instance.Status) { s.Conflicts = []instance.Conflict{conflict} }),
		"wrong-key":          standing(rejected("hmac", "vrrp: authentication code differs", "the sender has another key, or somebody forges advertisements")),
		"no-member-heard":    standing(held, func(s *instance.Status) { s.Members, s.Takers = s.Members[:1], instance.Takers{Nodes: 1} }),
		"no-taker":           standing(held, silentFor(1, 3*time.Minute), silentFor(2, time.Hour)),
		"starting":           standing(fault("starting", code.Started), func(s *instance.Status) { s.Observed = instance.ObservedFault }),
		"removed":            standing(fault("shut down", code.Stopping), func(s *instance.Status) { s.Observed, s.Why = instance.ObservedRemoved, nil }),
		"weighed":            standing(weighed),
		"fault-link-down":    standing(fault("the link of eth0 is down", code.LinkDown)),
		"handed-over": standing(func(s *instance.Status) {
			s.Last.Code, s.Last.Cause, s.Last.AskedBy = code.Handover, "n3: uid 0 asked for a handover", "uid 0 on n3"
		}),
		"started":      standing(held, func(s *instance.Status) { s.Reason, s.Code, s.Last = "no holder was heard", code.NobodyHeld, nil }),
		"foreign-vrid": standing(rejected("address-list", "vrrp: the addresses are not those of VRID 51 here", "give each group of routers a VRID of its own"), foreignVRID),
		"fence-mended": standing(held, func(s *instance.Status) {
			s.Fence.Repairs, s.Fence.Repaired, s.Fence.Code = 3, past(4*time.Minute), code.FenceLost
		}),
		"fence-with-a-gap": standing(held, func(s *instance.Status) {
			s.Fence.Uncovered, s.Fence.Code = "ARP on other links of this node", code.FenceUncovered
		}),
		"fence-lost": standing(func(s *instance.Status) { s.Fence = instance.FenceStatus{Reason: "nftables: operation not supported"} }),
		"not-spread": standing(held, func(s *instance.Status) {
			s.Spread = &instance.SpreadStatus{Problem: "nftables: operation not supported", WithoutIt: "nf_conntrack_tcp_loose is 0"}
			s.Spread.Members, s.Spread.LeftOut = make([]instance.SpreadMember, 7), make([]instance.SpreadMember, 1)
		}),
		"tracking-full": standing(held, func(s *instance.Status) {
			s.Spread = &instance.SpreadStatus{SecondChance: true, TrackingFull: "the kernel tracks 250000 connections, of 262144 at most"}
		}),
		"no-candidate": standing(noCandidate),
		"no-candidate-not-fit": standing(unfit("connection refused", code.CheckRefused), func(s *instance.Status) {
			s.NoCandidate, s.Members[0].NoCandidate, s.Takers = true, true, instance.Takers{Count: 1, Nodes: 2}
		}),
		"no-candidates": standing(noCandidate, func(s *instance.Status) {
			s.Holder, s.Reason, s.Code, s.Last, s.Takers = "", "started", code.Started, nil, instance.Takers{Reason: "no candidate is heard"}
			for i := range s.Members {
				m := &s.Members[i]
				m.State, m.Priority, m.Fit, m.Unfit, m.Code, m.NoCandidate = election.Backup, 1, &no, election.NoCandidate, code.NoCandidate, true
			}
		}),
		"another-member-is-not-fit": standing(func(s *instance.Status) {
			s.Members[2].Fit, s.Members[2].Unfit, s.Members[2].Code = &no, "the health check fails: 500", code.CheckStatus
		}),
		"raft-member-is-never-heard": standing(func(s *instance.Status) {
			s.VRID, s.Members[2] = 0, election.Member{Address: n3, State: election.Initialize}
		}),
	}
}

var (
	probing     = instance.Why{Code: code.Probing, Reason: "asking the link whether anybody has the address"}
	bindRefused = instance.Why{Code: code.BindRefused, Reason: "the address could not be bound: permission denied"}
	split       = election.Split{Address: n3, Node: "n3", Since: past(5 * time.Second), Both: true, Cause: "VRID 52 there, 51 here", Remedy: "set vrrp.id to the same on all nodes"}
	conflict    = instance.Conflict{
		Address: netip.MustParseAddr("10.0.0.100"), MAC: "02:00:00:00:00:66", Since: past(time.Minute), LastSeen: past(time.Second),
		VRRP: &instance.Router{Source: n3, Version: 2, VRID: 52, Priority: 101},
	}
)

// noCandidate makes n2 a member that never holds the address.
func noCandidate(s *instance.Status) {
	s.Observed, s.Eligible, s.NoCandidate, s.Unfit, s.Priority = instance.ObservedMember, false, true, election.NoCandidate, 1
	s.Why = &instance.Why{Code: code.NoCandidate, Reason: s.Unfit}
	m := &s.Members[0]
	m.Fit, m.Unfit, m.Code, m.Priority, m.NoCandidate = &no, s.Unfit, code.NoCandidate, 1, true
	s.Takers = instance.Takers{Count: 1, Nodes: 2}
}

func foreignVRID(s *instance.Status) { s.Rejected[0].Code = code.ForeignVRID }

func silencedHolder(s *instance.Status) {
	s.Observed, s.Silent, s.Holder, s.Code = instance.ObservedFault, true, "", code.NotSent
	s.Reason = "SILENT: the lease has been over for 3s, so the kernel keeps this node from answering"
}

func noQuorum(s *instance.Status) {
	s.VRID, s.Observed, s.Holder, s.Blocked = 0, instance.ObservedFault, "", "NO QUORUM: 1 of 3 voters heard, want 2"
	s.Reason, s.Code, s.Last = s.Blocked, code.NoQuorum, nil
	s.Why = &instance.Why{Code: code.NoQuorum, Reason: s.Blocked}
	silentFor(1, time.Minute)(s)
	silentFor(2, time.Minute)(s)
}

func weighed(s *instance.Status) {
	s.Priority, s.Unfit = 80, "the check disk fails: full"
	s.Checks = append(s.Checks, instance.CheckStatus{Name: "disk", Weight: -20, Verdict: health.Verdict{State: health.Unhealthy, Reason: "full", Code: code.CheckFailed, Since: past(time.Minute)}})
}
