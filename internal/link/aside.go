package link

import "github.com/vishvananda/netlink/nl"

// execute is r.Execute on a goroutine of its own. The library receives into 64 KiB on the stack, and the stack of a
// goroutine that has once been so large stays so for long: of hundreds of callers each would keep 128 KiB.
func execute(r *nl.NetlinkRequest, family int, answer uint16) (msgs [][]byte, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		msgs, err = r.Execute(family, answer)
	}()
	<-done
	return msgs, err
}
