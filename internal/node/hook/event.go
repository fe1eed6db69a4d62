package hook

import (
	"cmp"
	"encoding/json"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/keepvip/keepvip/internal/base/program"
	"github.com/keepvip/keepvip/internal/config"
)

// Change is what an entry has come to.
type Change struct {
	State    config.HookState
	Priority uint8      // with the weights of its checks
	Reason   string     // a short clause that an operator reads
	Holder   netip.Addr // of the addresses, as far as known
	Since    time.Time
}

// event is one thing to tell.
type event struct {
	Change
	kind  config.HookType
	told  string // the name that programs know
	entry string // of the configuration; of a group, one of its entries
	group string
	old   config.HookState
}

// priority is what keepalived gives: 0 for a group.
func (e event) priority() string {
	if e.kind == config.HookGroup {
		return "0"
	}
	return strconv.Itoa(int(e.Priority))
}

// arguments follow those of a program.
func (e event) arguments() []string {
	return []string{string(e.kind), e.told, string(e.State), e.priority()}
}

// line is what the FIFO gets.
func (e event) line() string {
	return string(e.kind) + ` "` + e.told + `" ` + string(e.State) + " " + e.priority() + "\n"
}

// document is what a program can read on standard input. Its names are a contract with programs.
type document struct {
	APIVersion string           `json:"apiVersion"`
	Kind       string           `json:"kind"`
	Type       config.HookType  `json:"type"`
	Name       string           `json:"name"`            // as the arguments have it
	VIP        string           `json:"vip"`             // the entry's name in the configuration
	Group      string           `json:"group,omitempty"` // of the entry
	State      config.HookState `json:"state"`
	OldState   config.HookState `json:"oldState,omitempty"` // that programs were told before; absent the first time
	Priority   uint8            `json:"priority"`
	Reason     string           `json:"reason"`
	Holder     string           `json:"holder,omitempty"` // the own address of the node that holds the addresses, as far as known
	Since      *time.Time       `json:"since,omitempty"`
}

// mostReason keeps the document far below what a program can be given.
const mostReason = 300

func (e event) document() []byte {
	d := document{
		APIVersion: "keepvip/v1", Kind: "StateChange", Type: e.kind, Name: e.told, VIP: e.entry, Group: e.group,
		State: e.State, OldState: e.old, Priority: e.Priority, Reason: e.Reason[:min(len(e.Reason), mostReason)],
	}
	if e.Holder.IsValid() {
		d.Holder = e.Holder.String()
	}
	if !e.Since.IsZero() {
		d.Since = &e.Since
	}
	text, err := json.Marshal(d)
	if err != nil || len(text) >= program.MaxInput {
		return []byte("{}\n") // text alone fits, and is never an error
	}
	return append(text, '\n')
}

// Entry is one entry of vips, and whom to tell about it.
type Entry struct {
	Name  string // in the configuration
	Told  string // what programs are told; "": Name
	Group string // that it is in; "": none
	// GroupTold is what programs are told of the group; "": Group.
	GroupTold string
	Programs  []Program
}

func (e Entry) told() string { return cmp.Or(e.Told, e.Name) }

// Program is one program to run. Without states it is run for all of them.
type Program struct {
	config.Hook
	entry string // that has it in the configuration
}

// wants tells whether the program is run for an event.
func (p Program) wants(e event) bool {
	return p.Type == e.kind && (len(p.States) == 0 || slices.Contains(p.States, e.State))
}
