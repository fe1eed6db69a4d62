package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/internal/node/control"
	"github.com/keepvip/keepvip/internal/node/daemon"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// confirmationDoc is what a verb that has changed something prints as JSON.
type confirmationDoc struct {
	Verb   string         `json:"verb"`                 // handover, drain, hold, resume, announce, add, remove, recover or log-level
	Member string         `json:"member,omitempty"`     // the address of the node that was added or removed
	Level  string         `json:"level,omitempty"`      // the level of the log
	For    float64        `json:"forSeconds,omitempty"` // for how long it is that
	Took   float64        `json:"tookSeconds"`
	VIPs   []confirmedVIP `json:"vips"` // that were named, or all, as they are afterwards
}

// confirmedVIP is a virtual address after a verb.
type confirmedVIP struct {
	Name       string           `json:"name"`
	State      string           `json:"state"`                // of this node: initialize, backup or active
	Desired    instance.Desired `json:"desired"`              // what operators want of this node
	Holder     string           `json:"holder,omitempty"`     // the Active's own address; absent while none is heard
	HolderNode string           `json:"holderNode,omitempty"` // its name, if it is known
	NoTaker    string           `json:"noTaker,omitempty"`    // that no other node could take the address now, after hold and drain; absent: one could

	external bool // nobody is to hold it
}

const (
	// settleTime bounds how long a confirmation waits for the address's new holder to be heard here.
	settleTime = time.Second
	settlePace = 20 * time.Millisecond
)

// confirm says how the named virtual addresses are now that verb is done. The verb is done whatever becomes of the question.
func confirm(ctx context.Context, c *control.Client, verb string, names []string, took time.Duration) confirmationDoc {
	doc := confirmationDoc{Verb: verb, Took: took.Seconds(), VIPs: []confirmedVIP{}}
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	for {
		var s daemon.Status
		if err := c.Status(ctx, &s); err != nil {
			return doc
		}
		doc.VIPs = confirmed(s, names, verb == "hold" || verb == "drain")
		if !slices.ContainsFunc(doc.VIPs, func(v confirmedVIP) bool { return v.Holder == "" && !v.external }) {
			return doc
		}
		select {
		case <-ctx.Done():
			return doc
		case <-time.After(settlePace):
		}
	}
}

// confirmed is how the named virtual addresses are. After a verb that takes a node away it says where that leaves nobody to take over.
func confirmed(s daemon.Status, names []string, away bool) []confirmedVIP {
	out := []confirmedVIP{}
	for _, v := range s.VIPs {
		if len(names) > 0 && !slices.Contains(names, v.Name) {
			continue
		}
		c := confirmedVIP{Name: v.Name, State: v.State, Desired: v.Desired, Holder: v.Holder, external: v.Observed == instance.ObservedExternal}
		if away && !c.external && takersMissing(v.Takers) {
			c.NoTaker = takersLine(v.Takers)
		}
		if m := v.Member(v.Holder); m != nil {
			c.HolderNode = m.Node
		}
		out = append(out, c)
	}
	return out
}

// stayed is an error where a drained node holds an address all the same: it held none when it was drained, and had to take it, as nobody else could.
func (d confirmationDoc) stayed() error {
	i := slices.IndexFunc(d.VIPs, func(v confirmedVIP) bool { return v.Desired == instance.Drained && v.State == "active" && !v.external })
	if d.Verb != "drain" || i < 0 {
		return nil
	}
	v := d.VIPs[i]
	why := cmp.Or(v.NoTaker, "no other node has taken it")
	return codedError{error: fmt.Errorf("%s: this node (%s) holds the address, though it is drained: %s; it gives the address away as soon as another node is fit", v.Name, v.Holder, why), code: exitNoTaker}
}

// text is a line for each virtual address: who holds it now.
func (d confirmationDoc) text() string {
	took := fmt.Sprintf("%s took %s", d.Verb, seconds(d.Took).Round(time.Millisecond))
	if d.Member != "" {
		return d.Member + ": " + took + "\n"
	}
	var b strings.Builder
	for _, v := range d.VIPs {
		fmt.Fprintf(&b, "%s: %s%s; %s\n", v.Name, v.wanted(), v.held(), took)
		if v.NoTaker != "" {
			fmt.Fprintf(&b, "%s: NO TAKER: %s\n", v.Name, v.NoTaker)
		}
	}
	if b.Len() == 0 {
		return took + "\n"
	}
	return b.String()
}

func (v confirmedVIP) wanted() string {
	if v.Desired == "" || v.Desired == instance.Available {
		return ""
	}
	return string(v.Desired) + " here, "
}

func (v confirmedVIP) held() string {
	switch {
	case v.external:
		return "the address is external"
	case v.Holder == "":
		return "no holder is heard"
	case v.State == "active":
		return "this node (" + v.Holder + ") holds it"
	case v.HolderNode == "":
		return v.Holder + " holds it"
	}
	return v.HolderNode + " (" + v.Holder + ") holds it"
}
