package lifeline

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/base/bubble"
)

// strangers is a listener with so many callers that belong to no member.
type strangers struct {
	net.Listener
	left int
}

func (s *strangers) Accept() (net.Conn, error) {
	if s.left == 0 {
		return nil, net.ErrClosed
	}
	s.left--
	here, there := net.Pipe()
	return here, there.Close()
}

// A flood of them does not keep the process from its other work.
func TestStrangersAreRefusedInTurns(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := &Lines{ctx: t.Context()}
		began := time.Now()
		l.accept(&strangers{left: 10 * callersInTurn})
		assert.Equal(t, 10*time.Millisecond, time.Since(began))
	})
}
