package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// crashDisk keeps every state that a kill could find: each step of an append, and a replacement before and after it.
type crashDisk struct {
	mu       sync.Mutex
	now      []byte
	states   []func() []byte // that a kill could find, in order
	syncs    []time.Time     // replacements among them
	replaced int
	full     bool // the disk takes nothing more
}

func (d *crashDisk) load() ([]byte, bool, error) { return d.now, d.now != nil, nil }

func (d *crashDisk) add(text []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	before := d.now
	half := append(bytes.Clone(before), text[:len(text)/2]...)
	if d.full {
		d.now = half
		return unix.ENOSPC
	}
	d.now = append(bytes.Clone(before), text...)
	for _, state := range [][]byte{half, d.now} {
		d.states = append(d.states, func() []byte { return state })
	}
	return nil
}

func (d *crashDisk) replace(text []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.syncs = append(d.syncs, time.Now())
	if d.full {
		return unix.ENOSPC
	}
	d.now = bytes.Clone(text)
	state := d.now
	d.states, d.replaced = append(d.states, func() []byte { return state }), d.replaced+1
	return nil
}

func (d *crashDisk) sync() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.syncs = append(d.syncs, time.Now())
	return nil
}

func (*crashDisk) close() {}

func (d *crashDisk) fill(full bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full = full
}

// journal is what was logged.
type journal struct {
	mu   sync.Mutex
	text strings.Builder
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// running is a Log with that disk.
func running(d disk) (l *Log, said *journal) {
	said = &journal{}
	l = New(slog.New(slog.NewTextHandler(said, nil)))
	l.begin("history.log", d)
	return l, said
}

func transition(i int) instance.Transition {
	return instance.Transition{At: time.Now(), Name: "apiserver", From: "backup", To: "active", Reason: fmt.Sprint("transition ", i)}
}

// read is what readers of a Log get.
func read(t *testing.T, l *Log) (out []Record) {
	t.Helper()
	var b bytes.Buffer
	_, err := l.WriteTo(&b)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b.Bytes(), &out))
	return out
}

// Whenever a kill comes, the next run has the transitions up to some moment, without a gap; and no more than the one that came with it is lost.
func TestLogIsKilledAtAnyMoment(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		d := &crashDisk{}
		l, _ := running(d)
		const all = maxLines + maxRecords + 50
		for i := range all {
			l.Add(transition(i))
			time.Sleep(20 * time.Millisecond)
		}
		l.Close()
		require.GreaterOrEqual(t, d.replaced, 2)
		last := uint64(0)
		for at, state := range d.states {
			if at%29 != 0 && at < len(d.states)-5 { // all of them take long
				continue
			}
			c, err := parse(state())
			require.NoError(t, err)
			for i, one := range c.lines {
				require.Equal(t, c.lines[0].number+uint64(i), one.number, "state %d", at)
			}
			if len(c.lines) > 0 {
				now := c.lines[len(c.lines)-1].number
				require.GreaterOrEqual(t, now, last, "state %d", at)
				require.LessOrEqual(t, now, last+17, "state %d", at)
				require.GreaterOrEqual(t, len(c.lines), min(int(now), maxRecords), "state %d", at)
				last = now
			}
			require.LessOrEqual(t, len(c.lines), maxLines+50)
		}
		assert.Equal(t, uint64(all), last)

		l, _ = running(&crashDisk{now: d.now})
		l.Add(transition(0))
		next := read(t, l)
		assert.Len(t, next, maxRecords)
		assert.Equal(t, uint64(all+1), next[maxRecords-1].Number)
		l.Close()
	})
}

func TestLogSyncsOnceASecondAtMost(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		d := &crashDisk{}
		l, _ := running(d)
		for i := range 1500 { // of which each fourth hundred is a replacement
			l.Add(transition(i))
			time.Sleep(3 * time.Millisecond)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		for i := range d.syncs[1:] {
			assert.GreaterOrEqual(t, d.syncs[i+1].Sub(d.syncs[i]), syncEvery)
		}
		assert.LessOrEqual(t, len(d.syncs), 7)
		assert.LessOrEqual(t, len(d.now), maxFile)
		c, err := parse(d.now)
		require.NoError(t, err)
		assert.Equal(t, uint64(1500), c.lines[len(c.lines)-1].number, "an idle history is on the disk")
		l.Close()
	})
}

func TestLogOfAnIdleHistoryDoesNothing(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		d := &crashDisk{}
		l, said := running(d)
		time.Sleep(time.Hour)
		l.Close()
		assert.Empty(t, d.syncs)
		assert.Empty(t, said.String())
		assert.Nil(t, l.Status())
		l.Add(transition(0))
		assert.Empty(t, read(t, l), "after the end")
	})
}

func TestLogOfADiskThatIsFullGoesOnInMemory(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		d := &crashDisk{}
		l, said := running(d)
		for i := range 10 {
			l.Add(transition(i))
			time.Sleep(100 * time.Millisecond)
		}
		d.fill(true)
		for i := range 20 {
			l.Add(transition(10 + i))
			time.Sleep(10 * time.Second)
		}
		synctest.Wait()
		assert.Len(t, read(t, l), 30)
		assert.Equal(t, 1, strings.Count(said.String(), "in memory only"), said)
		assert.Contains(t, said.String(), "no space left on device")
		s := l.Status()
		require.NotNil(t, s)
		assert.Contains(t, s.Error, "no space left on device")
		assert.Equal(t, 200*time.Second, time.Since(s.Since))
		c, err := parse(d.now)
		require.NoError(t, err)
		assert.Len(t, c.lines, 10, "what was there stays")

		d.fill(false)
		time.Sleep(lastRetry)
		synctest.Wait()
		assert.Nil(t, l.Status())
		assert.Equal(t, 1, strings.Count(said.String(), "in the file again"), said)
		c, err = parse(d.now)
		require.NoError(t, err)
		assert.Len(t, c.lines, 30)
		assert.True(t, c.whole)
		l.Close()
	})
}

// hungDisk takes what it is given, and never returns.
type hungDisk struct {
	crashDisk
	hang chan struct{}
}

func (d *hungDisk) replace([]byte) error { <-d.hang; return io.ErrClosedPipe }

func TestLogOfADiskThatHangsDelaysNobody(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		d := &hungDisk{hang: make(chan struct{})}
		l, said := running(d)
		began := time.Now()
		for i := range 1000 {
			l.Add(transition(i))
		}
		assert.Len(t, read(t, l), maxRecords)
		assert.Zero(t, time.Since(began))
		assert.Equal(t, uint64(1000-maxRecords), l.Status().Dropped)
		l.Close()
		assert.Equal(t, closeTime, time.Since(began))
		assert.Contains(t, said.String(), "does not answer")
		close(d.hang)
		<-l.ended
	})
}

// slowReader takes something now and then.
type slowReader struct{ got atomic.Int64 }

func (r *slowReader) Write(b []byte) (int, error) {
	time.Sleep(time.Second)
	r.got.Add(int64(len(b)))
	return len(b), nil
}

func TestLogOfSlowReadersDelaysNobody(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l, _ := running(&crashDisk{})
		for i := range maxRecords {
			l.Add(transition(i))
		}
		var readers sync.WaitGroup
		for range 50 {
			readers.Go(func() {
				n, err := l.WriteTo(&slowReader{})
				assert.NoError(t, err)
				assert.Positive(t, n)
			})
		}
		time.Sleep(2500 * time.Millisecond)
		began := time.Now()
		for i := range 3 * maxRecords {
			l.Add(transition(i))
		}
		assert.Zero(t, time.Since(began))
		readers.Wait()
		assert.LessOrEqual(t, time.Since(began), time.Minute, "and what comes meanwhile does not keep them for good")
		l.Close()
	})
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("gone") }

func TestLogOfAReaderThatHasGone(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l, _ := running(&crashDisk{})
		l.Add(transition(0))
		_, err := l.WriteTo(brokenWriter{})
		assert.EqualError(t, err, "gone")
		l.Close()
	})
}

// The wall clock is set back by an hour; the order and the distance stay.
func TestLogNumbersWhatTheClockDoesNotOrder(t *testing.T) {
	l, _ := running(&crashDisk{})
	now := time.Now()
	first, second := transition(0), transition(1)
	first.At, second.At = now, now.Add(250*time.Millisecond)
	l.Add(first)
	l.Add(second)
	l.Close()
	all := read(t, l)
	require.Len(t, all, 2)
	assert.Equal(t, []uint64{1, 2}, []uint64{all[0].Number, all[1].Number})
	assert.InDelta(t, 0.25, all[1].BootSeconds-all[0].BootSeconds, 0.05)
	assert.Equal(t, bootID(), all[0].Boot)
	assert.Positive(t, all[0].BootSeconds)
}
