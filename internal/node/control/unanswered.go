package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"time"

	"golang.org/x/sys/unix"
)

// unanswered is an error of a request that got no answer: what is at the socket, and what to do, in place of the words of net and http. The
// cause stays in its chain.
type unanswered struct {
	text  string
	cause error
}

func (e *unanswered) Error() string { return e.text }
func (e *unanswered) Unwrap() error { return e.cause }

// unanswered explains the error of a request that was given up after limit.
func (c *Client) unanswered(err error, limit time.Duration) error {
	e := &unanswered{cause: err}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.text = fmt.Sprintf("no keepvip answers at %s: there is no such socket; start keepvip, or name its socket by --socket", c.path)
	case errors.Is(err, unix.ECONNREFUSED):
		e.text = fmt.Sprintf("no keepvip answers at %s: no process listens there any more; start keepvip, or name its socket by --socket", c.path)
	case errors.Is(err, fs.ErrPermission):
		e.text = fmt.Sprintf("no permission for the socket %s; run the command as root", c.path)
	case errors.Is(err, context.DeadlineExceeded):
		e.text = fmt.Sprintf("the keepvip at %s has not answered for %s: its process stands still, or this host is overloaded; look at its log", c.path, limit)
	case errors.Is(err, context.Canceled):
		e.text = fmt.Sprintf("interrupted before the keepvip at %s answered", c.path)
	case errors.Is(err, io.EOF), errors.Is(err, unix.ECONNRESET):
		e.text = fmt.Sprintf("the keepvip at %s ended before it answered; look at its log", c.path)
	default:
		e.text = fmt.Sprintf("no keepvip answers at %q: %s; name its socket by --socket", c.path, plainCause(err))
	}
	return e
}

// plainCause leaves out of an error the URL, which is invented, and the name of the call.
func plainCause(err error) error {
	var asked *url.Error
	if errors.As(err, &asked) {
		err = asked.Err
	}
	var call *net.OpError
	if errors.As(err, &call) {
		err = call.Err
	}
	return err
}
