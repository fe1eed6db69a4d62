package main

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/node/daemon"
)

// drillDoc is what a drill has come to.
type drillDoc struct {
	VIP          string         `json:"vip"`
	Drill        string         `json:"drill"` // handover, stop or check
	Began        time.Time      `json:"began"`
	Target       netip.AddrPort `json:"target"`       // what was connected to
	MeasuredFrom string         `json:"measuredFrom"` // holder: the node that had the address; taker: the one that took it; or bystander
	From         string         `json:"from"`         // the node that had the address
	To           string         `json:"to"`           // the node that took it
	Returned     bool           `json:"returned"`     // it is at the first node again
	Stays        string         `json:"stays,omitempty"`
	Outage       *float64       `json:"outageSeconds,omitempty"` // the longest time without an answer; absent where it cannot be measured
	Bound        float64        `json:"boundSeconds"`            // what is documented for these settings, or was given
	Resolution   *float64       `json:"resolutionSeconds,omitempty"`
	Probes       int            `json:"probes"`
	Lost         int            `json:"lost"`
	Refused      int            `json:"refused"` // of those that are not lost: 0 where any was taken
	Result       string         `json:"result"`  // ok, over, unserved: all were refused, or unmeasured
	Code         code.Code      `json:"code,omitempty"`
}

func (d *drillRun) doc(from string) *drillDoc {
	return &drillDoc{
		VIP: d.plan.Name, Drill: string(d.kind), Began: time.Now().UTC(), Target: d.to, MeasuredFrom: from, From: d.plan.Holder,
		Bound: d.bound.Seconds(), Result: daemon.DrillUnmeasured,
	}
}

// text is the document as a person reads it.
func (d *drillDoc) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: drill %s, %s to %s", d.VIP, d.Drill, orUnknown(d.From), orUnknown(d.To))
	switch {
	case d.Returned:
		b.WriteString(" and back\n")
	case d.Stays != "":
		fmt.Fprintf(&b, ", where it stays: %s\n", d.Stays)
	default:
		b.WriteString("\n")
	}
	if d.Outage == nil {
		b.WriteString("  missed    not measured: the node that stood still reaches the address within itself; measure on another node, by --watch\n")
		return b.String()
	}
	fmt.Fprintf(&b, "  missed    %s, at most %s is documented for these settings\n", milliseconds(*d.Outage), milliseconds(d.Bound))
	fmt.Fprintf(&b, "  measured  at %s, from %s: %d of %d connections had no answer, one every %s at the slowest\n",
		d.Target, vantage(d.MeasuredFrom), d.Lost, d.Probes, milliseconds(*d.Resolution))
	if d.Result == daemon.DrillUnserved {
		b.WriteString("  refused   all of them: nothing listens there, so clients are not served\n")
	}
	return b.String()
}

// vantage is where it was measured from.
func vantage(from string) string {
	switch from {
	case "holder":
		return "the node that had it, which reaches it within itself until it goes"
	case "taker":
		return "the node that took it"
	}
	return "a node that was neither"
}

func orUnknown(node string) string { return cmp.Or(node, "an unknown node") }

func milliseconds(s float64) string { return fmt.Sprintf("%.0f ms", s*1000) }

// verdict is an error when the address was missed for too long, or nobody was served at it.
func (d *drillDoc) verdict() error {
	switch d.Result {
	case daemon.DrillUnserved:
		return failed(fmt.Errorf("%s: all %d connections to %s were refused, want a service there: have it listen at the address, or say its port by --port (%s)",
			d.VIP, d.Refused, d.Target, d.Code))
	case daemon.DrillOver:
	default:
		return nil
	}
	return failed(fmt.Errorf("%s: the address was missed for %s, want at most %s (%s)", d.VIP, milliseconds(*d.Outage), milliseconds(d.Bound), d.Code))
}
