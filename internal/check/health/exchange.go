package health

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/keepvip/keepvip/internal/base/lack"
)

// maxAnswer bounds header and body together. An apiserver's longest answer, the verbose one, is about 3 KiB.
const maxAnswer = 64 << 10

var errTooLong = fmt.Errorf("answer longer than %d bytes", maxAnswer)

// exchange is one request on one connection. It does without http.Transport, which goes on connecting in the background when
// a request is given up, so that a server that hangs would pile up goroutines and descriptors.
type exchange struct {
	prober   *httpProber
	keep     bool        // leave the connection open if the server does
	kept     *connection // the connection that was left open; nil: none
	timedOut bool
	phase    phase
}

// answer is a complete one.
type answer struct {
	status int
	body   []byte // of a status that is not 200 to 299
	open   bool   // the server leaves the connection open
}

// phase is how far an exchange has come, in words that follow "timeout after 600ms".
type phase string

const (
	connecting  phase = "connecting"
	handshaking phase = "in the TLS handshake"
	waiting     phase = "waiting for the answer"
	reading     phase = "reading the answer"
)

// result asks on conn, or on a new connection when that is nil.
func (x *exchange) result(ctx context.Context, conn *connection) Result {
	a, err := x.run(ctx, conn)
	if lacks := lack.OfDial(ctx, err, x.prober.address); lacks != "" {
		return unasked(lacks, err)
	}
	if err != nil {
		return x.classify(ctx, err)
	}
	return x.prober.judge(a)
}

// connection is an open one, with what is below its TLS.
type connection struct {
	net.Conn
	raw net.Conn
}

// run returns a complete answer.
func (x *exchange) run(ctx context.Context, conn *connection) (a answer, err error) {
	x.phase = connecting
	if conn == nil {
		raw, err := x.prober.dialer.DialContext(ctx, "tcp", x.prober.address)
		if err != nil {
			return a, err
		}
		conn = &connection{raw: raw}
	}
	defer func() {
		if x.kept == nil {
			_ = conn.raw.Close() // without the close_notify of TLS, which could block
		}
	}()
	// A deadline in the past wakes whatever blocks.
	stop := context.AfterFunc(ctx, func() { _ = conn.raw.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if conn.Conn == nil {
		if conn.Conn, err = x.secure(conn.raw); err != nil {
			return a, err
		}
	}
	x.phase = waiting
	if err := x.ask(conn); err != nil {
		return a, err
	}
	if a, err = x.answer(conn); err == nil && x.keep && a.open && stop() {
		x.kept = conn
	}
	return a, err
}

func (x *exchange) secure(raw net.Conn) (net.Conn, error) {
	if x.prober.tls == nil {
		return raw, nil
	}
	x.phase = handshaking
	secured := tls.Client(raw, x.prober.tls)
	return secured, secured.Handshake()
}

func (x *exchange) ask(conn net.Conn) error {
	text, err := x.prober.question(x.keep)
	if err != nil {
		return err
	}
	_, err = conn.Write(text)
	return err
}

// question is the request as it goes over the wire, made anew only for another token.
func (p *httpProber) question(keep bool) ([]byte, error) {
	if p.now.token != p.asked.token {
		p.asked = asked{token: p.now.token}
	}
	text := &p.asked.close
	if keep {
		text = &p.asked.keep
	}
	if text.Len() > 0 {
		return text.Bytes(), nil
	}
	req := *p.request // shallow: what changes is replaced
	req.Close = !keep
	if p.now.token != "" {
		req.Header = req.Header.Clone()
		req.Header.Set("Authorization", "Bearer "+p.now.token)
	}
	if err := req.Write(text); err != nil {
		text.Reset()
		return nil, err
	}
	return text.Bytes(), nil
}

// asked keeps the texts of requests.
type asked struct {
	token       string
	close, keep bytes.Buffer
}

// answer reads the whole answer.
func (x *exchange) answer(conn net.Conn) (a answer, err error) {
	limited := &io.LimitedReader{R: conn, N: maxAnswer + 1}
	in := x.prober.in
	in.Reset(limited)
	if _, err := in.Peek(1); err != nil {
		return a, err
	}
	x.phase = reading
	a, err = finalAnswer(in, x.prober.request)
	// Also without an error: to a body that ends with its connection the limit looks like the end.
	if limited.N <= 0 {
		return a, errTooLong
	}
	a.open = a.open && in.Buffered() == 0
	return a, err
}

// finalAnswer skips interim answers (RFC 9110 section 15.2), as many as fit into the limit.
func finalAnswer(in *bufio.Reader, req *http.Request) (a answer, err error) {
	for {
		resp, err := http.ReadResponse(in, req)
		if err != nil {
			return a, err
		}
		a = answer{status: resp.StatusCode, open: !resp.Close}
		if a.status >= 200 && a.status < 300 {
			_, err = io.Copy(io.Discard, resp.Body)
		} else {
			a.body, err = io.ReadAll(resp.Body)
		}
		_ = resp.Body.Close() // read to its end
		if err != nil {
			return a, err
		}
		if a.status >= 200 || a.status == http.StatusSwitchingProtocols {
			return a, nil
		}
	}
}

// isTimeout tells a deadline, ours or the network's, from other errors.
func isTimeout(ctx context.Context, err error) bool {
	var network net.Error
	return ctx.Err() != nil || errors.As(err, &network) && network.Timeout()
}
