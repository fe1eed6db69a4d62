package health

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/base/program"
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
		r.Code, r.Reason, r.Hint = code.CheckTLS, "certificate not trusted: "+brief(err), hintTrust
		if when := outOfTime(err); when != "" {
			r.Reason, r.Hint = "certificate not trusted: "+when, "renew the server's certificate, or set the clock of the node that is wrong"
		}
	default:
		r.Reason = brief(err)
	}
	return r
}

const hintTrust = "compare the check's CA file and server name with the server's certificate"

// outOfTime says when the certificate of an error has expired, or from when on it is valid; empty where the error is another one. The library's
// own text has the current time, which would make each probe's reason another one.
func outOfTime(err error) string {
	var invalid x509.CertificateInvalidError
	switch {
	case !errors.As(err, &invalid) || invalid.Reason != x509.Expired || invalid.Cert == nil:
		return ""
	case time.Now().Before(invalid.Cert.NotBefore):
		return "it is not valid before " + invalid.Cert.NotBefore.UTC().Format(time.RFC3339)
	}
	return "it expired at " + invalid.Cert.NotAfter.UTC().Format(time.RFC3339)
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
func brief(err error) string { return program.Brief(err.Error()) }
