package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/node/control"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// What a drill may come to, as the metric has it.
const (
	DrillOK          = "ok"          // the address was missed for no longer than documented
	DrillOver        = "over"        // it was missed for longer
	DrillUnserved    = "unserved"    // every connection was refused: nothing listens at the address
	DrillUnmeasured  = "unmeasured"  // it moved, and nobody has said how long it was missed
	drillRefused     = "refused"     // nothing was changed
	drillFailed      = "failed"      // nobody took the address
	drillInterrupted = "interrupted" // whoever asked has gone, or something else came that ends a drill
)

// drills carries out drills, and keeps what the newest have come to. Safe for concurrent use.
type drills struct {
	set *instance.Set

	mu   sync.Mutex             // guards last
	last map[string]drillResult // by the names of the virtual addresses
}

type drillResult struct {
	kind, result string
	outage       time.Duration
	measured     bool
	at           time.Time
}

func (d *drills) note(vip string, r drillResult) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.last == nil {
		d.last = map[string]drillResult{}
	}
	d.last[vip] = r
}

// run carries out a drill. It goes on when whoever asked has gone, and ends sooner then.
func (d *drills) run(ctx context.Context, vip, kind string, lasts time.Duration, back bool) (any, error) {
	if err := d.knows(vip, kind); err != nil {
		return nil, err
	}
	out, err := d.set.Drill(context.WithoutCancel(ctx), vip, instance.Drill{Kind: instance.DrillKind(kind), Lasts: lasts, Return: back, Gone: ctx.Done()})
	if !errors.Is(err, instance.ErrNoInstance) { // a reload may have removed it
		d.note(vip, drillResult{kind: kind, result: drillResultOf(ctx, out, err), at: time.Now()})
	}
	return out, kindOf(err)
}

// knows is an error for what must not become a label of a metric.
func (d *drills) knows(vip, kind string) error {
	switch instance.DrillKind(kind) {
	case instance.DrillHandover, instance.DrillStop, instance.DrillCheck:
	default:
		return fmt.Errorf("drill %q, want %s, %s or %s", kind, instance.DrillHandover, instance.DrillStop, instance.DrillCheck)
	}
	_, err := d.set.DrillPlan(vip)
	return err
}

func drillResultOf(ctx context.Context, out instance.Drilled, err error) string {
	switch {
	case ctx.Err() != nil, errors.Is(err, instance.ErrDrillEnded):
		return drillInterrupted
	case err == nil:
		return DrillUnmeasured
	case out.Begun:
		return drillFailed
	}
	return drillRefused
}

// seen keeps what was measured.
func (d *drills) seen(vip string, s control.DrillSeen) error {
	if err := d.knows(vip, s.Kind); err != nil {
		return err
	}
	if s.Result != DrillOK && s.Result != DrillOver && s.Result != DrillUnserved {
		return fmt.Errorf("result %q, want %s, %s or %s", s.Result, DrillOK, DrillOver, DrillUnserved)
	}
	d.note(vip, drillResult{kind: s.Kind, result: s.Result, outage: s.Outage, measured: true, at: time.Now()})
	return nil
}

func (d *drills) plan(vip string) (any, error) { return d.set.DrillPlan(vip) }

const (
	// drillSlack is what binding, announcing and measuring take on a machine that is not idle.
	drillSlack = 20 * time.Millisecond
	// raftPassed is for how long an address elected by Raft is nowhere at most while it is passed on: it is off before another node leads.
	raftPassed = 100 * time.Millisecond
	// voteTime is what an election by Raft takes at most on disks that are not slow.
	voteTime = 100 * time.Millisecond
)

// outagesByVRRP are those of v: a lease is over before another node takes the address, which is one interval later at most (the Skew_Time
// of the lowest priority) and the tie-break.
func outagesByVRRP(v config.VIP, port uint16, lease time.Duration) instance.Outages {
	interval := v.VRRP.AdvertisementInterval
	lapsed := time.Duration(v.VRRP.DownTimerAdverts)*interval + interval + interval/8 - lease + drillSlack
	if v.Group != "" || port == 0 { // it moves by plain VRRP
		return instance.Outages{Passed: lapsed, Lapsed: lapsed}
	}
	return instance.Outages{Passed: drillSlack, Lapsed: lapsed}
}

// outagesByRaft are those of a cluster: others elect when the heartbeat timeout is over, and once more when two stand at once.
func outagesByRaft(heartbeat, lease time.Duration) instance.Outages {
	return instance.Outages{Passed: raftPassed, Lapsed: 2*heartbeat - lease + voteTime}
}
