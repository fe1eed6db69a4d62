package control

import (
	"context"
	"net"
	"net/http"

	"golang.org/x/sys/unix"
)

type peerKey struct{}

// withPeer keeps the credentials of the process at the other end, as they were when it connected.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	uc, ok := c.(*net.UnixConn)
	if !ok {
		return ctx
	}
	raw, err := uc.SyscallConn()
	if err != nil {
		return ctx
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil || credErr != nil {
		return ctx
	}
	return context.WithValue(ctx, peerKey{}, *cred)
}

// fromRoot tells that the request came from a process of user 0. Without credentials it did not.
func fromRoot(r *http.Request) bool {
	cred, ok := r.Context().Value(peerKey{}).(unix.Ucred)
	return ok && cred.Uid == 0
}
