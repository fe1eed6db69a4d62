package sdnotify

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/base/bubble"
)

// recorded runs a notifier for a while and returns what the manager heard, and the log.
func recorded(watchdog, life time.Duration, pulse pulse, broken func() error) (messages []string, log string) {
	var text bytes.Buffer
	n := &Notifier{watchdog: watchdog, send: func(m string) error {
		if broken != nil {
			if err := broken(); err != nil {
				return err
			}
		}
		messages = append(messages, m)
		return nil
	}}
	alive, end := context.WithTimeout(context.Background(), life)
	defer end()
	serving, stop := context.WithTimeout(alive, life-time.Second/2)
	defer stop()
	n.Run(serving, alive, pulse, slog.New(slog.NewTextHandler(&text, nil)))
	return messages, text.String()
}

func TestRunFeedsTheWatchdogThreeTimesInItsTime(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		got, _ := recorded(6*time.Second, 5*time.Second, func() (string, error) { return "a backup", nil }, nil)
		assert.Equal(t, []string{"READY=1\nWATCHDOG=1\nSTATUS=a backup", "WATCHDOG=1", "WATCHDOG=1", "STOPPING=1"}, got)
	})
}

func TestRunStarvesTheWatchdogWhileALoopIsStuck(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		begin := time.Now()
		got, log := recorded(6*time.Second, 9*time.Second, func() (string, error) {
			if age := time.Since(begin); age > time.Second && age < 7*time.Second {
				return "", errors.New("a: the loop has been stuck for 31s")
			}
			return "a", nil
		}, nil)
		assert.Equal(t, []string{"READY=1\nWATCHDOG=1\nSTATUS=a", "WATCHDOG=1", "STOPPING=1"}, got)
		assert.Equal(t, 1, strings.Count(log, "the loop has been stuck"), log)
	})
}

func TestRunWithoutWatchdogTellsTheStatusOnlyWhenItIsNew(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		begin := time.Now()
		got, _ := recorded(0, 16*time.Second, func() (string, error) {
			if time.Since(begin) > 7*time.Second {
				return "a active", nil
			}
			return "a backup", nil
		}, nil)
		assert.Equal(t, []string{"READY=1\nSTATUS=a backup", "STATUS=a active", "STOPPING=1"}, got)
	})
}

func TestRunGoesOnWhenTheManagerIsAway(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		begin := time.Now()
		got, log := recorded(6*time.Second, 9*time.Second, func() (string, error) { return "a", nil }, func() error {
			if time.Since(begin) < 3*time.Second {
				return errors.New("connection refused")
			}
			return nil
		})
		assert.Equal(t, []string{"READY=1\nWATCHDOG=1\nSTATUS=a", "WATCHDOG=1", "WATCHDOG=1", "STOPPING=1"}, got)
		assert.Equal(t, 1, strings.Count(log, "connection refused"), log)
	})
}

func TestRunWithoutManager(t *testing.T) {
	var n *Notifier
	n.Run(t.Context(), t.Context(), nil, nil)
}
