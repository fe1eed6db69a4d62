package link

import "github.com/vishvananda/netlink/nl"

// aside runs f on a goroutine of its own and waits for it. The netlink library receives into 64 KiB on the stack, and the
// stack of a goroutine that has once been so large stays so for long: of hundreds of callers each would keep 128 KiB.
func aside(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// execute is r.Execute, aside.
func execute(r *nl.NetlinkRequest, family int, answer uint16) (msgs [][]byte, err error) {
	aside(func() { msgs, err = r.Execute(family, answer) })
	return msgs, err
}
