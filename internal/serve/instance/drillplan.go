package instance

import (
	"fmt"
	"net/netip"
	"time"
)

// Outages are for how long clients miss an address at most when it moves, by the documentation and the settings: more is a finding.
type Outages struct {
	Passed time.Duration // when it is passed on
	Lapsed time.Duration // when the lease of the holder ends, and another node takes over by itself
}

// Of is that of a drill.
func (o Outages) Of(kind DrillKind) time.Duration {
	if kind == DrillStop {
		return o.Lapsed
	}
	return o.Passed
}

// DrillPlan is what whoever measures a drill has to know.
type DrillPlan struct {
	Name    string        `json:"name"`
	Address netip.Addr    `json:"address"` // the first one
	Port    uint16        `json:"port"`    // 0: no check says one
	Here    bool          `json:"here"`    // this node holds the address
	Holder  string        `json:"holder"`  // its name and address; empty while none is heard
	Lease   time.Duration `json:"lease"`
	Outages Outages       `json:"outages"`
}

// DrillPlan is that of the instance of that name.
func (a *Set) DrillPlan(name string) (DrillPlan, error) {
	list, err := a.named([]string{name})
	if err != nil {
		return DrillPlan{}, err
	}
	v := list[0].shared.now()
	if len(v.cfg.VIP.Addresses) == 0 {
		return DrillPlan{}, fmt.Errorf("%s has no address that a drill could ask", name)
	}
	s := v.status()
	return DrillPlan{
		Name: name, Address: v.cfg.VIP.Addresses[0].Addr(), Port: v.cfg.VIP.Port(), Here: s.State == "active", Holder: s.HolderName(),
		Lease: v.cfg.Lease, Outages: v.cfg.Outages,
	}, nil
}
