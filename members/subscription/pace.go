//go:build linux

package subscription

import "time"

// breath and inBreath bound what a flood takes of the processor: so many datagrams are read in such a time.
const breath, inBreath = 10 * time.Millisecond, 100

// pace is that of one reader.
type pace struct {
	begin time.Time
	n     int
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
