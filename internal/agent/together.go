package agent

import "time"

// untilNext is how long it is from now to the next multiple of every. What hundreds of instances do now and then they do at
// the same moments: each time that an idle process wakes up costs more than what it then does.
func untilNext(now time.Time, every time.Duration) time.Duration {
	return every - time.Duration(now.UnixNano()%int64(every))
}
