package health

import (
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
)

// reasonEvery bounds how often a reason that alternates is told again: each time is a message to all members.
const reasonEvery = time.Second

// told is what was reported last of why a service is not healthy. The zero told is nothing yet.
type told struct {
	reason string
	code   code.Code
	at     time.Time
}

// stale tells whether another reason than the reported one keeps the service from being healthy by now. A probe that passes says
// nothing of that, unless damping alone makes it count for nothing yet.
func (t *told) stale(v Verdict) bool {
	says := v.State != Healthy && (v.Outcome != Pass || v.Code == code.CheckFlaps)
	return says && (t.reason != v.Reason || t.code != v.Code) && v.LastProbe.Sub(t.at) >= reasonEvery
}

func (t *told) note(v Verdict) { *t = told{v.Reason, v.Code, v.LastProbe} }
