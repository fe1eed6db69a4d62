//go:build linux

package subscription

import (
	"errors"
	"net"
	"time"

	"github.com/keepvip/keepvip/members/envelope"
)

// breath and inBreath bound what a flood takes of the processor: so many datagrams are read in such a time.
const breath, inBreath = 10 * time.Millisecond, 100

// pace is that of one reader.
type pace struct {
	begin time.Time
	n     int
}

// read gives hear what receive waits for, until that is closed, or stop ends it.
func read(stop <-chan struct{}, receive func([]byte) (Packet, error), hear func(Packet)) {
	b := make([]byte, envelope.MaxMessage+1)
	pace := pace{begin: time.Now()}
	for {
		in, err := receive(b)
		if errors.Is(err, net.ErrClosed) || !pace.goOn(stop, err != nil) {
			return
		}
		if err == nil {
			hear(in)
		}
	}
}

// goOn counts a datagram, and waits when there were many, or the socket has failed; false: stop has ended it.
func (p *pace) goOn(stop <-chan struct{}, failed bool) bool {
	if p.n++; !failed && p.n < inBreath {
		return true
	}
	if left := breath - time.Since(p.begin); left > 0 {
		select {
		case <-stop:
			return false
		case <-time.After(left):
		}
	}
	p.begin, p.n = time.Now(), 0
	return true
}
