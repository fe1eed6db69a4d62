package health

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
)

// progress follows how far a request has come. The HTTP client reports from goroutines of its own.
type progress struct{ step atomic.Int32 }

const (
	connecting int32 = iota
	handshaking
	waiting
	reading
)

func (p *progress) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		ConnectDone: func(_, _ string, err error) {
			if err == nil {
				p.step.Store(waiting)
			}
		},
		TLSHandshakeStart:    func() { p.step.Store(handshaking) },
		TLSHandshakeDone:     func(tls.ConnectionState, error) { p.step.Store(waiting) },
		GotFirstResponseByte: func() { p.step.Store(reading) },
	}
}

// phase says where a timeout hit.
func (p *progress) phase() string {
	switch p.step.Load() {
	case connecting:
		return "in connecting"
	case handshaking:
		return "in the TLS handshake"
	case waiting:
		return "waiting for the answer"
	}
	return "reading the answer"
}

func (p *progress) connected() bool { return p.step.Load() != connecting }

// classifyBroken judges a request that ended in an error other than a timeout.
func classifyBroken(r *Result, err error, at *progress) {
	var (
		unknownCA  x509.UnknownAuthorityError
		wrongName  x509.HostnameError
		badCert    x509.CertificateInvalidError
		plainHTTP  tls.RecordHeaderError
		cutOff     = errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		refused    = errors.Is(err, syscall.ECONNREFUSED)
		atTheDoor  = errors.Is(err, syscall.ECONNRESET) && !at.connected()
		wrongTrust = errors.As(err, &unknownCA) || errors.As(err, &wrongName) || errors.As(err, &badCert)
	)
	switch {
	case refused:
		r.Outcome, r.Reason = Down, "connection refused"
	case atTheDoor:
		r.Outcome, r.Reason = Down, "connection reset"
	case cutOff:
		r.Reason, r.Broken = "connection cut "+at.phase(), true
	case wrongTrust:
		r.Reason = "certificate not trusted: " + brief(err)
		r.Hint = "compare the check's CA file and server name with the server's certificate"
	case errors.As(err, &plainHTTP), strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		r.Reason, r.Hint = "no TLS on this port", "check an http URL, or another port"
	default:
		r.Reason = brief(err)
	}
}

// brief is an error without the URL around it, on one line of bounded length.
func brief(err error) string {
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err
	}
	const most = 200
	text := strings.Join(strings.Fields(err.Error()), " ")
	if len(text) > most {
		text = text[:most] + "..."
	}
	return text
}
