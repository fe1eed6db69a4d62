package main

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"sync"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/node/control"
	"github.com/keepvip/keepvip/internal/node/daemon"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/internal/tools/drill"
)

// drillRun is one run of the command.
type drillRun struct {
	*drillFlags
	client *control.Client

	warnings io.Writer
	plan     instance.DrillPlan
	kind     instance.DrillKind
	to       netip.AddrPort
	bound    time.Duration
}

const (
	// before is for how long the address is looked at before the failure.
	before = 300 * time.Millisecond
	// after is for how long it is looked at when everything is over: the announcements of a takeover last a second and a half.
	after = 500 * time.Millisecond
	// calm is for how long a watcher sees no change of the holder before it takes a drill to be over: the address goes back after 1.5s.
	calm = 2500 * time.Millisecond
	// lookEvery is how often a watcher looks who the holder is.
	lookEvery = 100 * time.Millisecond
)

// here drills on the holder, and measures from it, unless it stands still: it reaches the address within itself then.
func (d *drillRun) here(ctx context.Context) (*drillDoc, error) {
	if d.kind == instance.DrillStop {
		doc := d.doc("holder")
		return doc, d.fail(ctx, doc)
	}
	m := d.measure(ctx)
	defer m.stop()
	if err := m.answered(ctx); err != nil {
		return nil, err
	}
	doc := d.doc("holder")
	if err := d.fail(ctx, doc); err != nil {
		return nil, err
	}
	if err := sleep(ctx, after); err != nil {
		return nil, err
	}
	d.seen(ctx, doc, m.stop())
	return doc, nil
}

// fail has the holder fail, and notes who took the address.
func (d *drillRun) fail(ctx context.Context, doc *drillDoc) error {
	var done instance.Drilled
	if err := d.client.Drill(ctx, d.plan.Name, string(d.kind), d.length(), !d.noReturn, &done); err != nil {
		return err
	}
	doc.To, doc.Returned, doc.Stays = done.Holder, done.Returned, done.Stays
	if done.Stays != "" {
		doc.Code = code.DrillStays
	}
	return nil
}

// length is how long the failure lasts at most: a fresh probe of the next node may take two seconds, and a handover ends when it is done.
func (d *drillRun) length() time.Duration {
	least := map[instance.DrillKind]time.Duration{
		instance.DrillStop: time.Second, instance.DrillCheck: 5 * time.Second, instance.DrillHandover: 10 * time.Second,
	}
	if d.lasts > 0 {
		return d.lasts
	}
	return min(max(3*d.plan.Lease, least[d.kind]), instance.MostDrill)
}

// watchOther measures the drill of another node, which is to begin within the limit.
func (d *drillRun) watchOther(ctx context.Context, limit time.Duration) (*drillDoc, error) {
	m := d.measure(ctx)
	defer m.stop()
	if err := m.answered(ctx); err != nil {
		return nil, err
	}
	doc := d.doc("bystander")
	first, last, change := d.plan.Holder, d.plan.Holder, time.Time{}
	for begun := time.Now(); change.IsZero() && time.Since(begun) < limit || !change.IsZero() && time.Since(change) < d.calm(); {
		if err := sleep(ctx, lookEvery); err != nil {
			return nil, err
		}
		var now instance.DrillPlan
		if err := d.client.DrillPlan(ctx, d.plan.Name, &now); err != nil {
			return nil, err
		}
		if now.Here {
			doc.MeasuredFrom = "taker"
		}
		if now.Holder != last {
			last, change = now.Holder, time.Now()
			if doc.To == "" && last != first && last != "" {
				doc.To = last
			}
		}
	}
	if change.IsZero() {
		return nil, &control.KindError{Kind: control.KindTimeout, Err: fmt.Errorf("no drill was seen within %s: %s has held the address", limit, orUnknown(first))}
	}
	doc.Returned = last == first
	d.seen(ctx, doc, m.stop())
	return doc, nil
}

// calm is how long nothing happens at the end of a drill. A holder that stands still knows of no other before it goes on.
func (d *drillRun) calm() time.Duration {
	if d.kind == instance.DrillStop {
		return calm + d.length()
	}
	return calm
}

// seen completes the document by what was measured, and has the daemon keep it. What root alone may ask for, or a daemon that has gone
// cannot do, is no reason to say nothing of what was seen.
func (d *drillRun) seen(ctx context.Context, doc *drillDoc, s drill.Seen) {
	outage := s.Longest.Length
	doc.Outage, doc.Resolution = inSeconds(outage), inSeconds(s.Coarsest)
	doc.Probes, doc.Lost, doc.Refused = s.Sent, s.Lost, s.Refused
	doc.Result = daemon.DrillOK
	switch {
	case s.AllRefused():
		doc.Result, doc.Code = daemon.DrillUnserved, code.DrillAllRefused
	case outage > d.bound:
		doc.Result, doc.Code = daemon.DrillOver, code.DrillTooLong
	}
	err := d.client.DrillSeen(ctx, d.plan.Name, control.DrillSeen{Kind: string(d.kind), Result: doc.Result, Outage: outage})
	if err != nil {
		_, _ = fmt.Fprintln(d.warnings, "keepvip: the result is not kept for the metrics:", err)
	}
}

func inSeconds(d time.Duration) *float64 {
	s := d.Seconds()
	return &s
}

// measurement is a prober that runs.
type measurement struct {
	prober *drill.Prober
	to     netip.AddrPort
	cancel context.CancelFunc
	ended  sync.WaitGroup
}

func (d *drillRun) measure(ctx context.Context) *measurement {
	ctx, cancel := context.WithCancel(ctx)
	m := &measurement{prober: drill.NewProber(d.to), to: d.to, cancel: cancel}
	m.ended.Go(func() { m.prober.Run(ctx) })
	return m
}

// stop ends it, and returns what it has seen; again, the same.
func (m *measurement) stop() drill.Seen {
	m.cancel()
	m.ended.Wait()
	return m.prober.Seen()
}

// answered is an error where nothing answers before the failure: there is nothing to measure.
func (m *measurement) answered(ctx context.Context) error {
	if err := sleep(ctx, before); err != nil {
		return err
	}
	if yes, _ := m.prober.Answers(); !yes {
		return fmt.Errorf("%s does not answer before the drill, so nothing would be measured: name a port of the service by --port", m.to)
	}
	return nil
}
