package control

import (
	"context"
	"net"
	"net/http"
	"strings"

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

// Asked is a verb and who asked for it, as the kernel attests.
type Asked struct {
	Verb string // "handover"
	UID  uint32
	PID  int32 // 0: of another PID namespace
	VIPs []string
}

func askedOf(path string, r *http.Request) Asked {
	cred, _ := r.Context().Value(peerKey{}).(unix.Ucred)
	a := Asked{Verb: strings.TrimPrefix(path, "/v1/"), UID: cred.Uid, PID: cred.Pid, VIPs: r.URL.Query()["vip"]}
	if op := r.URL.Query().Get("op"); op != "" {
		a.Verb += " " + op
	}
	return a
}

// fromRoot tells that the request came from a process of user 0. Without credentials it did not.
func fromRoot(r *http.Request) bool {
	cred, ok := r.Context().Value(peerKey{}).(unix.Ucred)
	return ok && cred.Uid == 0
}
