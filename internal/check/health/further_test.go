package health

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/base/code"
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

// What this host lacks for the question says nothing about the service, and the expiry that the main probe saw stays known.
func TestFurtherPortsCannotBeAsked(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var refuses error
		own := Result{Reason: "ok", Expires: time.Now().Add(time.Hour)}
		p := WithFurther(Func(func(context.Context) Result { return own }), "127.0.0.1:9345").(*withFurther)
		p.dial = func(context.Context, string) error { return refuses }
		assert.Equal(t, own, p.Probe(t.Context()))
		for lacks, want := range map[error]code.Code{syscall.EMFILE: code.NoDescriptors, syscall.ENOBUFS: code.NoMemory} {
			refuses = lacks
			time.Sleep(furtherEvery)
			assert.Equal(t, Result{Outcome: Unasked, Code: want, Reason: "127.0.0.1:9345: " + lacks.Error(), Expires: own.Expires}, p.Probe(t.Context()))
			refuses = nil
			assert.Equal(t, own, p.Probe(t.Context()), "it is asked again by the next probe")
		}
	})
}
