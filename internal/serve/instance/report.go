package instance

import (
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/check/health"
)

// Standing is what this node is to the addresses of an instance, as other programs of the host are told. It follows what the service has
// done, and not what is wanted of it.
type Standing uint8

// What a node may be. The zero Standing is one that is not known yet.
const (
	Holding Standing = iota + 1 // the addresses are bound and announced here
	Ready                       // it would take them
	Unable                      // it is not fit to take them, or takes no part
	Stopped                     // the instance has ended, and has left nothing behind
)

// Report is one change of it.
type Report struct {
	Standing Standing
	Priority uint8      // the configured one with the weights of the checks
	Reason   string     // a short clause that an operator reads
	Holder   netip.Addr // of the addresses, as far as known
	Since    time.Time
}

// report tells of a change, once. The caller holds the lock.
func (v *view) report() {
	if v.cfg.Report == nil {
		return
	}
	standing, reason := v.standing()
	if standing == v.reported.Standing {
		return
	}
	v.reported = Report{Standing: standing, Priority: v.cfg.priority(v.said()), Reason: reason, Holder: v.holder, Since: time.Now()}
	v.cfg.Report(v.reported)
}

// standing is pure. While the address is on its way, and before the first decision of a term, it is what it was.
func (v *view) standing() (Standing, string) {
	was, why := v.reported.Standing, v.reported.Reason
	switch {
	case v.removed, v.cfg.apart():
		return Stopped, v.reason
	case v.ending != nil && v.ending(), v.role == election.Quiet:
		return was, why
	case v.state == election.Active:
		return Holding, v.reason
	case v.blocked.Out:
		return Unable, v.blocked.Reason
	case v.desired.Desired == Held:
		return Unable, v.desired.reason()
	case v.apart:
		return Unable, v.reason
	case !v.decides, was == 0 && v.untested():
		return was, why
	case v.role == election.Off && v.code != code.CheckUnknown:
		return Unable, v.reason
	}
	return v.healthy()
}

// untested tells whether a condition has no result yet, or the elector has not heard of the first one, and none is bad. An elector may be off
// then, where nobody holds the addresses while all nodes are bad. That is no fault to tell a program of.
func (v *view) untested() bool {
	unknown := v.role == election.Off && v.code == code.CheckUnknown
	for _, c := range v.cfg.Checks {
		if !c.decides() {
			continue
		}
		switch v.said()[c.Name].State {
		case health.Unhealthy:
			return false
		case health.Unknown:
			unknown = true
		}
	}
	return unknown
}

// healthy is what a node is that takes part and does not hold the addresses, by its conditions.
func (v *view) healthy() (Standing, string) {
	for _, c := range v.cfg.Checks {
		if c.decides() && v.said()[c.Name].State == health.Unhealthy {
			return Unable, v.cfg.judge(v.said()).Reason
		}
	}
	return Ready, v.reason
}

// priority is the configured one with the weights of the checks.
func (in *Config) priority(verdicts map[string]health.Verdict) uint8 {
	priority, _ := in.weigh(verdicts)
	return uint8(clampPriority(priority))
}
