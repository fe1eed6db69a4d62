package instance

import "time"

// NextMultiple is the next multiple of every on the clock. What hundreds of instances do now and then they do at the same
// moments: each time that an idle process wakes up costs more than what it then does.
func NextMultiple(now time.Time, every time.Duration) time.Time {
	return now.Add(every - time.Duration(now.UnixNano()%int64(every)))
}
