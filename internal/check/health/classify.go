package health

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/keepvip/keepvip/internal/base/code"
)

// classify judges an exchange that brought no complete answer. Reasons hold no measured times: they are compared and counted.
func (x *exchange) classify(ctx context.Context, err error) Result {
	var (
		r         = Result{Outcome: Fail}
		reset     = errors.Is(err, syscall.ECONNRESET)
		cut       = reset || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		plainHTTP tls.RecordHeaderError
	)
	switch {
	case errors.Is(err, errTooLong):
		r.Reason = err.Error()
	case errors.Is(err, syscall.ECONNREFUSED):
		r.Outcome, r.Code, r.Reason = Down, code.CheckRefused, "connection refused"
	case reset && x.phase == connecting:
		r.Outcome, r.Code, r.Reason = Down, code.CheckRefused, "connection reset while connecting"
	case isTimeout(ctx, err):
		x.timedOut = true
		r.Code, r.Reason = code.CheckTimeout, fmt.Sprintf("timeout after %v %s", x.prober.timeout, x.phase)
	case cut:
		r.Code, r.Reason, r.Broken = code.CheckCut, "connection cut "+string(x.phase), true
	case errors.As(err, &plainHTTP):
		r.Code, r.Reason, r.Hint = code.CheckTLS, "no TLS on this port", "check it by http, or check another port"
	case x.phase == handshaking && notTrusted(err):
		r.Code, r.Reason = code.CheckTLS, "certificate not trusted: "+brief(err)
		r.Hint = "compare the check's CA file and server name with the server's certificate"
	default:
		r.Reason = brief(err)
	}
	return r
}

func notTrusted(err error) bool {
	var (
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
	)
	return errors.As(err, &authority) || errors.As(err, &name) || errors.As(err, &invalid)
}

// brief is an error on one line of bounded length.
func brief(err error) string {
	const most = 200
	text := strings.Join(strings.Fields(err.Error()), " ")
	if len(text) > most {
		text = text[:most] + "..."
	}
	return text
}
