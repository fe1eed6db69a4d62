// Package lack tells what this host has too little of from what a service, or another host, does wrong. A probe that fails for want of a file
// descriptor says nothing about whom it was to ask.
//
// There are no goroutines.
package lack

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
)

// kinds are the errors that say so by themselves, whatever call has failed.
var kinds = []struct {
	err  syscall.Errno
	code code.Code
}{
	{syscall.EMFILE, code.NoDescriptors},
	{syscall.ENFILE, code.NoHostDescriptors},
	{syscall.ENOMEM, code.NoMemory},
	{syscall.ENOBUFS, code.NoMemory},
}

// Of is the code of what this host lacks, by an error of any call; "" for every other error.
func Of(err error) code.Code {
	if err == nil {
		return ""
	}
	var lookup *net.DNSError
	asked := errors.As(err, &lookup)
	for _, k := range kinds {
		// A resolver keeps only the text of its error.
		if errors.Is(err, k.err) || asked && strings.Contains(lookup.Err, k.err.Error()) {
			return k.code
		}
	}
	return ""
}

// OfStart is Of for an error of starting a program.
func OfStart(err error) code.Code {
	if errors.Is(err, syscall.EAGAIN) {
		return code.NoProcess
	}
	return Of(err)
}

// OfDial is Of for an error of connecting to a TCP "host:port". Without a local port left, and without a local address for that family, the kernel
// says the same. A UDP socket, whose ports are others, tells them apart: to connect one sends nothing.
func OfDial(ctx context.Context, err error, to string) code.Code {
	if !errors.Is(err, syscall.EADDRNOTAVAIL) {
		return Of(err)
	}
	d := net.Dialer{Timeout: 100 * time.Millisecond}
	c, other := d.DialContext(ctx, "udp", to)
	if other != nil {
		return Of(other)
	}
	_ = c.Close() // nothing was sent
	return code.NoPort
}
