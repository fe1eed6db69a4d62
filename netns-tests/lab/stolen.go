package lab

import (
	"strconv"
	"strings"
	"time"
)

const (
	// stolenEvery is how often is looked for what a hypervisor has taken of the processors for others. It takes some milliseconds at a time: no thread
	// is late by much, and all are slow.
	stolenEvery = 100 * time.Millisecond
	// stolenLimit is what of that is reported. The kernel counts it in hundredths of a second.
	stolenLimit = 20 * time.Millisecond
	// userHz is the kernel's unit of processor time (times(2)); on Linux programs always see hundredths.
	userHz = 100
)

// watchStolen returns what was taken of the processor of which most was taken, each time at the end of the time in which it was.
func watchStolen(l *Lab, done <-chan struct{}) (out []Stall) {
	before := stolen(readFile("/proc/stat"))
	each := time.NewTicker(stolenEvery)
	defer each.Stop()
	for goes := true; goes; {
		select {
		case <-done:
			goes = false
		case <-each.C:
		}
		now, after := l.now(), stolen(readFile("/proc/stat"))
		most, at := time.Duration(0), -1
		for cpu := range min(len(before), len(after)) {
			if d := after[cpu] - before[cpu]; d > most {
				most, at = d, cpu
			}
		}
		if most >= stolenLimit {
			out = append(out, Stall{At: now - most, Length: most, CPU: at})
		}
		before = after
	}
	return out
}

// stolen is what was taken of each processor since the machine was started, by the text of /proc/stat (proc_stat(5): the eighth figure of a line).
func stolen(stat string) (out []time.Duration) {
	for line := range strings.Lines(stat) {
		fields := strings.Fields(line)
		if len(fields) < 9 || len(fields[0]) <= len("cpu") || !strings.HasPrefix(fields[0], "cpu") {
			continue
		}
		ticks, err := strconv.ParseInt(fields[8], 10, 64)
		if err != nil {
			return nil
		}
		out = append(out, time.Duration(ticks)*time.Second/userHz)
	}
	return out
}
