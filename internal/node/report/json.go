package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"
)

// JSON is the JSON dump, in keepalived's version 1: an array with an object for each instance.
func JSON(n Node) ([]byte, error) {
	out := make([]dumped, len(n.Instances))
	for i, in := range n.Instances {
		out[i] = dumped{dataOf(in), in.Stats}
	}
	b, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("keepalived's JSON dump: %w", err)
	}
	return b, nil
}

type dumped struct {
	Data  data  `json:"data"`
	Stats Stats `json:"stats"`
}

// data has keepalived's names, in its order. Those of which keepvip does not know a value are missing.
type data struct {
	Name             string      `json:"iname"`
	DontTrackPrimary int         `json:"dont_track_primary"`
	Strict           int         `json:"strict_mode"`
	VMAC             string      `json:"vmac_ifname"`
	Interface        string      `json:"ifp_ifname"`
	MasterPriority   uint8       `json:"master_priority"`
	LastTransition   json.Number `json:"last_transition"`
	Refresh          int         `json:"garp_refresh"`
	VRID             uint8       `json:"vrid"`
	Priority         uint8       `json:"base_priority"`
	Effective        uint8       `json:"effective_priority"`
	Bound            bool        `json:"vipset"`
	Interval         float64     `json:"adver_int"`
	Accept           int         `json:"accept"`
	NoPreempt        bool        `json:"nopreempt"`
	PreemptDelay     float64     `json:"preempt_delay"`
	State            State       `json:"state"`
	WantState        State       `json:"wantstate"`
	Version          uint8       `json:"version"`
	MailAlert        bool        `json:"smtp_alert"`
	Addresses        []string    `json:"vips"`
	Excluded         []string    `json:"evips,omitempty"`
	AuthType         int         `json:"auth_type"`
}

func dataOf(i Instance) data {
	d := data{
		Name: i.Name, VMAC: i.VMAC, Interface: cmp.Or(i.VMAC, i.Interface), MasterPriority: i.MasterPriority,
		LastTransition: json.Number(fmt.Sprintf("%d.%06d", i.Since.Unix(), i.Since.Nanosecond()/1000)), Refresh: int(i.Refresh / time.Second),
		VRID: i.VRID, Priority: i.Priority, Effective: i.Effective, Bound: i.Bound, Interval: i.Interval.Seconds(), Accept: 1,
		NoPreempt: !i.Preempt, PreemptDelay: i.PreemptDelay.Seconds(), State: i.State, WantState: i.State, Version: i.Version,
		Addresses: []string{},
	}
	for _, a := range i.Addresses {
		d.Addresses = append(d.Addresses, addressText(a, i))
	}
	for _, a := range i.Excluded {
		d.Excluded = append(d.Excluded, addressText(a, i))
	}
	if i.Password {
		d.AuthType = 1
	}
	return d
}
