// Package reset ends TCP connections so that nothing of them stays in the kernel, which otherwise remembers each for a minute.
package reset

import (
	"context"
	"net"
)

// Close closes a connection; what was not sent yet is lost.
func Close(c net.Conn) error {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	return c.Close()
}

// Dial tells whether a connection is taken, and ends it.
func Dial(ctx context.Context, address string) error {
	c, err := (&net.Dialer{KeepAlive: -1}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return Close(c)
}
