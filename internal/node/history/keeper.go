package history

import (
	"bytes"
	"time"
)

const (
	// syncEvery is how often, at most, a disk is told to keep what it has.
	syncEvery = time.Second
	// firstRetry doubles, up to lastRetry, each time that the disk did not take the file.
	firstRetry = time.Second
	lastRetry  = time.Minute
)

// keeper decides what the disk is asked for, and when. It belongs to the goroutine that writes, and has no clock.
type keeper struct {
	disk disk

	whole   bool // the file has what it should have, and may be appended to
	lines   int  // in the file
	size    int  // of the file, in bytes
	unkept  bool // something of it may not be on the disk
	kept    time.Time
	failure error
	pause   time.Duration // after the last failure
	retry   time.Time
	taken   bool // something stands in the place of the file that is not to be written
}

// write puts lines into the file: more, which are new, or if that cannot be appended, all that there are. due is when it has to be called
// again, new lines or not; zero: not by itself.
func (k *keeper) write(now time.Time, more []line, all func() []line) (written bool, due time.Time) {
	if now.Before(k.retry) {
		return false, k.retry
	}
	must, want := !k.whole || k.size+length(more) > maxFile, k.lines+len(more) > maxLines
	next := k.kept.Add(syncEvery)
	if must && now.Before(next) {
		return false, next
	}
	replace := must || want && !now.Before(next)
	var err error
	switch {
	case replace:
		err = k.replace(now, all())
	case len(more) > 0:
		err = k.add(more)
	}
	if err == nil && k.unkept {
		if now.Before(next) {
			return true, next
		}
		err = k.sync(now)
	}
	return err == nil, k.judge(now, err)
}

// judge takes in how it went.
func (k *keeper) judge(now time.Time, err error) (due time.Time) {
	k.failure = err
	if err == nil {
		k.pause, k.retry = 0, time.Time{}
		return time.Time{}
	}
	k.whole = false // nobody knows what of it was written
	k.pause = min(max(firstRetry, 2*k.pause), lastRetry)
	k.retry = now.Add(k.pause)
	return k.retry
}

func (k *keeper) add(more []line) error {
	k.lines, k.size, k.unkept = k.lines+len(more), k.size+length(more), true
	return k.disk.add(join("", more))
}

func (k *keeper) replace(now time.Time, all []line) error {
	text := join(header, all)
	k.kept = now
	if err := k.disk.replace(text); err != nil {
		return err
	}
	k.lines, k.size, k.whole, k.unkept = len(all), len(text), true, false
	return nil
}

// sync has the disk keep the file. The time counts from its begin, and also when it failed.
func (k *keeper) sync(now time.Time) error {
	k.kept = now
	err := k.disk.sync()
	k.unkept = err != nil
	return err
}

func length(lines []line) (n int) {
	for _, l := range lines {
		n += len(l.text)
	}
	return n
}

func join(head string, lines []line) []byte {
	b := bytes.NewBufferString(head)
	for _, l := range lines {
		b.Write(l.text)
	}
	return b.Bytes()
}
