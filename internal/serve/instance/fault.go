package instance

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
)

// Faults that Moved is told of, beside the moves. Their texts are part of what commands print.
const (
	FaultOut     = "out"     // this node is in no election
	FaultSilent  = "silent"  // it is Active without a lease, so it does not answer
	FaultBlocked = "blocked" // no node can hold the address, as without a majority
	FaultHeld    = "held"    // an operator holds this node out, and that is no move: an election by Raft, or none, goes on without
)

// fault is what keeps this node, or every node, from serving, and is no move of the address; the zero fault for nothing.
type fault struct {
	kind   string
	code   code.Code
	reason string
	since  time.Time
}

// fault looks at the service and the elector, which takes its time.
func (v *view) fault(now time.Time) fault {
	switch {
	case v.heldInPlace():
		return fault{FaultHeld, code.Held, v.desired.reason(), now}
	case v.elector == nil && v.apart:
		return fault{FaultOut, v.code, v.reason, now}
	case v.elector == nil:
		return fault{}
	}
	if v.state == election.Active {
		over, dropped := v.unrenewed(now, v.service.Status())
		if over == 0 {
			return fault{}
		}
		why, more := unrenewedBy(v.elector.Status().Counters.SendErrors, dropped)
		return fault{FaultSilent, why, "the lease is over, so the kernel keeps this node from answering" + more, now.Add(-over)}
	}
	if v.cfg.cluster() {
		if e := v.elector.Status(); e.Blocked != "" {
			return fault{FaultBlocked, e.BlockedCode, e.Blocked, now}
		}
	}
	return fault{}
}

// heldInPlace tells whether an operator holds this node out while its state in the election stays what it is.
func (v *view) heldInPlace() bool {
	return v.desired.Desired == Held && v.state != election.Active && (v.cfg.cluster() || v.cfg.apart())
}

// faults is what Moved was told of faults.
type faults struct {
	shared *shared

	looks sync.Mutex  // held by the one look that goes on; guards told
	told  fault       // the newest; zero: there is none now
	again atomic.Bool // another look was asked for meanwhile
}

// watch tells of a fault when it begins, and when it is over where no move says so. It does not wait for a kernel that takes its time.
func (f *faults) watch(now time.Time) {
	if !f.looks.TryLock() {
		f.again.Store(true)
		return
	}
	v := f.shared.now()
	if may := v.elector == nil || v.state == election.Active || v.cfg.cluster() || v.heldInPlace(); !may && f.told.kind == "" {
		f.looks.Unlock()
		return
	}
	looked := v // of its own, so that where nothing is looked at the view stays on the stack
	go func() {
		f.tell(&looked, now)
		f.looks.Unlock()
		if f.again.Swap(false) {
			f.watch(time.Now())
		}
	}()
}

func (f *faults) tell(v *view, now time.Time) {
	if v.removed || v.ending != nil && v.ending() {
		return // which ends no fault
	}
	before, next := f.told, v.fault(now)
	if before.kind == next.kind {
		return
	}
	f.told = next
	moved := v.last != nil && v.last.At.After(before.since) && before.kind != FaultHeld
	if before.kind != "" && before.kind != FaultOut && !moved {
		t := v.still(now, before)
		t.Over, t.Reason = true, fmt.Sprintf("it is over, after %s", now.Sub(before.since).Round(time.Second))
		if before.kind == FaultHeld {
			t.Code, t.Reason = code.Resumed, fmt.Sprintf("resumed by an operator, after %s", now.Sub(before.since).Round(time.Second))
		}
		v.cfg.moved(t)
	}
	said := next.kind == FaultOut && v.last != nil && v.last.To == v.state.String() // by the move out of the election
	if next.kind != "" && !said {
		v.cfg.moved(v.still(next.since, next))
	}
}

// still is a Transition that is no move.
func (v *view) still(at time.Time, f fault) Transition {
	t := Transition{At: at, Name: v.cfg.VIP.Name, From: v.state.String(), To: v.state.String(), Code: f.code, Reason: f.reason, Fault: f.kind}
	t.OldHolder.Address = v.holder
	if v.last != nil && v.last.NewHolder.Address == v.holder {
		t.OldHolder = v.last.NewHolder
	}
	t.NewHolder = t.OldHolder
	if f.kind == FaultHeld {
		t.AskedBy = "uid 0 on " + v.ownName()
	}
	return t
}

// ownName is what other nodes call this one, as far as it is known.
func (v *view) ownName() string {
	if v.elector != nil {
		for _, m := range v.elector.Status().Members {
			if m.Self && m.Node != "" {
				return m.Node
			}
		}
	}
	if v.place.Source.IsValid() {
		return v.place.Source.String()
	}
	return "this node"
}
