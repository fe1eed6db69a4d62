package members

import "time"

// outage watches for times in which nobody is fit. After such a time the first that recovers must not take the address at
// once: what made all of them unfit ends for all of them, one after the other, and the holder may be next.
type outage struct {
	last time.Time // when nobody was fit for the last time
}

// notice takes in whether that is so now.
func (o *outage) notice(now time.Time, nobodyFit bool) {
	if nobodyFit {
		o.last = now
	}
}

// recovered is until when nobody asks, which is hold after the outage; zero when there was none.
func (o *outage) recovered(hold time.Duration) time.Time {
	if o.last.IsZero() {
		return time.Time{}
	}
	return o.last.Add(hold)
}
