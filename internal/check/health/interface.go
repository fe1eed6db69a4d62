package health

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/lack"
)

// Interface makes the Prober of a network interface in this process's namespace: healthy while it is up and its link works
// (IFF_UP and IFF_RUNNING of netdevice(7)). What it finds is definite. The error says why there can be no such interface.
func Interface(name string) (Prober, error) {
	if _, err := unix.NewIfreq(name); err != nil || name == "" {
		return nil, fmt.Errorf("health: interface %q, want a name of 1 to %d bytes", name, unix.IFNAMSIZ-1)
	}
	return Func(func(context.Context) Result {
		flags, err := interfaceFlags(name)
		switch {
		case errors.Is(err, unix.ENODEV):
			return Result{Outcome: Down, Reason: "no interface " + name}
		case lack.Of(err) != "":
			return unasked(lack.Of(err), err)
		case err != nil:
			return Result{Outcome: Fail, Reason: name + ": " + brief(err)}
		case flags&unix.IFF_UP == 0:
			return Result{Outcome: Down, Reason: name + " is down"}
		case flags&unix.IFF_RUNNING == 0:
			return Result{Outcome: Down, Reason: name + " has no carrier"}
		}
		return Result{Outcome: Pass, Reason: name + " is up"}
	}), nil
}

// interfaceFlags asks for one interface alone: a node may have hundreds.
func interfaceFlags(name string) (uint16, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if errors.Is(err, unix.EAFNOSUPPORT) {
		fd, err = unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	}
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	req, err := unix.NewIfreq(name)
	if err != nil {
		return 0, err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, req); err != nil {
		return 0, err
	}
	return req.Uint16(), nil
}
