package control

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"

	"golang.org/x/sys/unix"
)

type peerKey struct{}

// withPeer keeps the credentials of the process at the other end, as they were when it connected.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	if p, ok := c.(*placedConn); ok {
		ctx = context.WithValue(ctx, placeKey{}, p)
		c = p.Conn
	}
	if cred, ok := peer(c); ok {
		return context.WithValue(ctx, peerKey{}, cred)
	}
	return ctx
}

func peer(c net.Conn) (unix.Ucred, bool) {
	uc, ok := c.(*net.UnixConn)
	if !ok {
		return unix.Ucred{}, false
	}
	raw, err := uc.SyscallConn()
	if err != nil {
		return unix.Ucred{}, false
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil || credErr != nil {
		return unix.Ucred{}, false
	}
	return *cred, true
}

// processOf tells the processes that connect apart.
func processOf(c net.Conn) string {
	cred, _ := peer(c)
	return fmt.Sprintf("process %d of user %d", cred.Pid, cred.Uid)
}

// placeKey is the key of the connection that a request came on.
type placeKey struct{}

// keepPlace keeps the connection of a request while it is being carried out, which may take as long as an operator wants.
func keepPlace(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p, ok := r.Context().Value(placeKey{}).(*placedConn); ok {
			p.setBusy(true)
			defer p.setBusy(false)
		}
		next.ServeHTTP(w, r)
	})
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
