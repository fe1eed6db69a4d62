package election_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/keepvip/keepvip/election"
)

// A node that could not bind the address first keeps out, so that another one takes it, and then comes last for a while.
func ExampleBindBackoff() {
	var b election.BindBackoff
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	b.Begin(began, errors.New("no such device"), 400*time.Millisecond)
	fmt.Println("out:", b.Pausing(), "until", b.Next().Sub(began))
	b.Due(b.Next())
	fmt.Println("out:", b.Pausing(), "last until", b.Next().Sub(began))
	fmt.Println(b.Worsen(election.Fitness{}).Reason)
	b.Due(b.Next())
	fmt.Printf("%+v\n", b.Worsen(election.Fitness{}))
	// Output:
	// out: true until 400ms
	// out: false last until 10s
	// the address could not be bound: no such device
	// {Out:false Wait:false Less:0 Reason: Code:}
}
