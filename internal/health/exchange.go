package health

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// maxAnswer bounds header and body together. An apiserver's longest answer, the verbose one, is about 3 KiB.
const maxAnswer = 64 << 10

var errTooLong = fmt.Errorf("answer longer than %d bytes", maxAnswer)

// exchange is one request on one connection. It does without http.Transport, which goes on connecting in the background when
// a request is given up, so that a server that hangs would gather goroutines and descriptors.
type exchange struct {
	prober *httpProber
	phase  phase
}

// phase is how far an exchange has come, in words that follow "timeout after 600ms".
type phase string

const (
	connecting  phase = "connecting"
	handshaking phase = "in the TLS handshake"
	waiting     phase = "waiting for the answer"
	reading     phase = "reading the answer"
)

// run returns the status of a complete answer.
func (x *exchange) run(ctx context.Context) (status int, err error) {
	x.phase = connecting
	raw, err := x.prober.dialer.DialContext(ctx, "tcp", x.prober.address)
	if err != nil {
		return 0, err
	}
	defer raw.Close()
	// A deadline in the past wakes whatever blocks.
	stop := context.AfterFunc(ctx, func() { raw.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	conn, err := x.secure(raw)
	if err != nil {
		return 0, err
	}
	x.phase = waiting
	if err := x.prober.request.Write(conn); err != nil {
		return 0, err
	}
	return x.answer(conn)
}

func (x *exchange) secure(raw net.Conn) (net.Conn, error) {
	if x.prober.tls == nil {
		return raw, nil
	}
	x.phase = handshaking
	secured := tls.Client(raw, x.prober.tls)
	return secured, secured.Handshake()
}

// answer reads the whole answer and throws the body away.
func (x *exchange) answer(conn net.Conn) (status int, err error) {
	limited := &io.LimitedReader{R: conn, N: maxAnswer}
	in := bufio.NewReader(limited)
	if _, err := in.Peek(1); err != nil {
		return 0, err
	}
	x.phase = reading
	status, err = finalAnswer(in, x.prober.request)
	if err != nil && limited.N <= 0 {
		return 0, errTooLong
	}
	return status, err
}

// finalAnswer skips interim answers (RFC 9110 section 15.2), as many as fit into the limit.
func finalAnswer(in *bufio.Reader, req *http.Request) (status int, err error) {
	for {
		resp, err := http.ReadResponse(in, req)
		if err != nil {
			return 0, err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if err != nil {
			return 0, err
		}
		if resp.StatusCode >= 200 || resp.StatusCode == http.StatusSwitchingProtocols {
			return resp.StatusCode, nil
		}
	}
}

// isTimeout tells a deadline, ours or the network's, from other errors.
func isTimeout(ctx context.Context, err error) bool {
	var network net.Error
	return ctx.Err() != nil || errors.As(err, &network) && network.Timeout()
}
