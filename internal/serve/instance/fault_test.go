package instance

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// What lasted to the end of an entry, or of the process, was not over before.
func TestFaultThatLastsToTheEndIsNotOver(t *testing.T) {
	var told []Transition
	now := time.Now()
	for name, change := range map[string]func(*view){
		"removed": func(v *view) { v.removed = true },
		"ending":  func(v *view) { v.ending = func() bool { return true } },
	} {
		i := newInstance(Config{Name: "apiserver", Moved: func(m Transition) { told = append(told, m) }}, slog.New(slog.DiscardHandler))
		i.faults.told = fault{kind: FaultSilent, since: now.Add(-time.Minute)}
		v := i.now()
		change(&v)
		i.tellFault(&v, now)
		assert.Empty(t, told, name)
	}
}
