package agent

import "time"

// nextMultiple is the next multiple of every on the clock. What hundreds of instances do now and then they do at the same
// moments: each time that an idle process wakes up costs more than what it then does.
func nextMultiple(now time.Time, every time.Duration) time.Time {
	return now.Add(every - time.Duration(now.UnixNano()%int64(every)))
}

// untilMultiple is how long it is until then.
func untilMultiple(every time.Duration) time.Duration {
	return time.Until(nextMultiple(time.Now(), every))
}

// stopped is a timer that does not run.
func stopped() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}
