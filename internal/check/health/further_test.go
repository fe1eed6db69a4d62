package health

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/base/bubble"
)

// A further port counts once it has taken a connection, is looked at seldom while it does, and fails the check as soon as it does not.
func TestFurtherPorts(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var refuses error
		looks, own := 0, Result{Reason: "ok"}
		p := WithFurther(Func(func(context.Context) Result { return own }), "127.0.0.1:9345").(*withFurther)
		p.dial = func(context.Context, string) error { looks++; return refuses }
		refuses = syscall.ECONNREFUSED
		assert.Equal(t, own, p.Probe(t.Context()), "this installation may be without it")
		refuses = nil
		time.Sleep(furtherEvery)
		for range 10 {
			assert.Equal(t, own, p.Probe(t.Context()))
		}
		assert.Equal(t, 2, looks)
		refuses = syscall.ECONNREFUSED
		time.Sleep(furtherEvery)
		found := p.Probe(t.Context())
		assert.Equal(t, Down, found.Outcome)
		assert.Equal(t, "127.0.0.1:9345: connection refused", found.Reason)
		refuses = nil
		assert.Equal(t, own, p.Probe(t.Context()), "it is looked at each time until it takes one")
		own = Result{Outcome: Fail, Reason: "500"}
		assert.Equal(t, own, p.Probe(t.Context()))
	})
}
