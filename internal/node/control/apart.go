package control

import (
	"cmp"
	"context"
	"net"

	"golang.org/x/sys/unix"
)

// listenApart opens two sockets at one address that is no loopback address. Connections of this host wait at the second one. Its users, who may
// connect from any address in 127.0.0.0/8 and to any of the host's, leave no room behind them for those of other hosts otherwise.
func listenApart(lc net.ListenConfig, network, at string) (lns []net.Listener, err error) {
	for range 2 {
		ln, err := lc.Listen(context.Background(), network, at)
		if err != nil {
			closeAll(lns)
			return nil, err
		}
		lns = append(lns, ln)
		at = ln.Addr().String() // the kernel may have chosen the port
	}
	_ = divide(lns[0].(*net.TCPListener)) // a kernel that cannot divides them by the caller's port
	return lns, nil
}

// loopbackIndex is the index of the loopback interface in every network namespace.
const loopbackIndex = 1

// divide has the kernel give what comes by the loopback interface to the second socket of the group that this one is in.
func divide(ln *net.TCPListener) error {
	const index = 1<<32 - 0x1000 + 8 // SKF_AD_OFF + SKF_AD_IFINDEX of linux/filter.h
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: index},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: loopbackIndex, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},
	}
	raw, err := ln.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
		failed = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_REUSEPORT_CBPF, &program)
	})
	return cmp.Or(err, failed)
}
