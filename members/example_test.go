package members_test

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/vrrp"
)

// A fit Backup hears that the holder is unfit, looks afresh at its own service, and asks.
func ExampleMachine() {
	group, holder := netip.MustParseAddr("10.0.0.100"), netip.MustParseAddr("10.0.0.12")
	m := members.NewMachine(members.Config{
		Group: group, Address: netip.MustParseAddr("10.0.0.11"), Session: 1, Lease: 290 * time.Millisecond,
	})
	now := time.Unix(0, 0)
	show := func(ev members.Event) {
		for _, a := range m.Step(now, ev) {
			switch a := a.(type) {
			case members.Confirm:
				fmt.Println("probe")
			case members.Send:
				fmt.Println("send", a.Message.Type)
			case members.Take:
				fmt.Println("take from", a.From)
			}
		}
	}
	show(members.SetSelf{Self: members.Self{State: vrrp.Backup, Priority: 100, Fit: true}})
	unfit := members.PeerState{Self: members.Self{State: vrrp.Active, Priority: 1}, Group: group, Epoch: 1, Lifetime: time.Second}
	show(members.Received{Source: holder, Message: members.Message{Type: members.Hello, Session: 2, Peer: unfit}})
	show(members.Confirmed{ID: 1, Fit: true})

	given := unfit
	given.State = vrrp.Backup
	show(members.Received{Source: holder, Message: members.Message{
		Type: members.Grant, Session: 2, Peer: given,
		Transfer: members.Transfer{To: netip.MustParseAddr("10.0.0.11"), Session: 1, Epoch: 1, Nonce: 2},
	}})
	// Output:
	// send HELLO
	// probe
	// send REQUEST
	// take from 10.0.0.12
}
