package link

import "github.com/vishvananda/netlink/nl"

// onOwnStack runs f on a goroutine of its own and waits for it. The netlink library receives into 64 KiB on the stack, and the
// stack of a goroutine that has once been so large stays so for long: of hundreds of callers each would keep 128 KiB.
func onOwnStack(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// execute is r.Execute, on a stack of its own.
func execute(r *nl.NetlinkRequest, family int, answer uint16) (msgs [][]byte, err error) {
	onOwnStack(func() { msgs, err = r.Execute(family, answer) })
	return msgs, err
}
