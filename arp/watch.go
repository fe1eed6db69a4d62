package arp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/mdlayher/packet"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// frameLen is the longest frame that is read: neighbour discovery is not fragmented, and anything longer is cut off and then refused.
const frameLen = 1514

// goneCheck is how long after a link went down it is looked at again.
const goneCheck = time.Second

// Watch reports every claim to one of addrs that is heard on the interface, those of the rightful holder included, until ctx
// ends; it then returns nil. It does not hear what this node itself sends. report runs on Watch's goroutine.
//
// Watch runs one goroutine for each family in addrs and waits for them. It needs CAP_NET_RAW. The error wraps ErrGone when the interface is
// deleted; one that is down is waited for.
func Watch(ctx context.Context, ifi *net.Interface, addrs []netip.Addr, report func(Claim)) error {
	if err := watch(ctx, ifi, addrs, report); err != nil {
		return fmt.Errorf("arp: watch %s: %w", ifi.Name, err)
	}
	return nil
}

func watch(ctx context.Context, ifi *net.Interface, addrs []netip.Addr, report func(Claim)) error {
	ears, err := listen(ifi, addrs)
	if err != nil {
		return err
	}
	return follow(ctx, ears, addrs, report)
}

// follow reports what the ears hear, and closes them.
func follow(ctx context.Context, ears []ear, addrs []netip.Addr, report func(Claim)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	claims, ended := make(chan Claim), make(chan error)
	for _, e := range ears {
		go func() { ended <- e.hear(ctx, claims) }()
	}
	var errs error
	for running := len(ears); running > 0; {
		select {
		case c := <-claims:
			if slices.Contains(addrs, c.Addr) {
				report(c)
			}
		case err := <-ended:
			running--
			errs = errors.Join(errs, err)
			stop()
		}
	}
	if len(ears) == 0 {
		<-ctx.Done()
	}
	return errs
}

// ear is a socket that hears the claims of one family.
type ear struct{ sock *packet.Conn }

func listen(ifi *net.Interface, addrs []netip.Addr) ([]ear, error) {
	var ears []ear
	fail := func(err error) ([]ear, error) {
		for _, e := range ears {
			_ = e.sock.Close()
		}
		return nil, privilege(err)
	}
	v6 := slices.DeleteFunc(slices.Clone(addrs), netip.Addr.Is4)
	v4 := slices.DeleteFunc(slices.Clone(addrs), netip.Addr.Is6)
	if len(v4) > 0 {
		e, err := openEar(ifi, unix.ETH_P_ARP, arpFilter(v4))
		if err != nil {
			return fail(err)
		}
		ears = append(ears, e)
	}
	if len(v6) > 0 {
		e, err := openEar(ifi, unix.ETH_P_IPV6, ndFilter(v6))
		if err != nil {
			return fail(err)
		}
		ears = append(ears, e)
		for _, a := range v6 {
			// Solicitations go to a group that only the holder of the address belongs to.
			if err := e.sock.JoinGroup(groupMAC(solicitedNode(a))); err != nil {
				return fail(err)
			}
		}
	}
	return ears, nil
}

func openEar(ifi *net.Interface, protocol int, filter []bpf.Instruction) (ear, error) {
	raw, err := bpf.Assemble(filter)
	if err != nil {
		return ear{}, err
	}
	sock, err := packet.Listen(ifi, packet.Raw, protocol, &packet.Config{Filter: raw})
	return ear{sock}, err
}

// hear passes claims on until ctx ends, and closes the socket.
func (e ear) hear(ctx context.Context, claims chan<- Claim) error {
	defer func() { _ = e.sock.Close() }()
	defer context.AfterFunc(ctx, func() { _ = e.sock.SetReadDeadline(time.Unix(1, 0)) })()
	buf := make([]byte, frameLen)
	for {
		n, _, err := e.sock.ReadFrom(buf)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, unix.ENETDOWN), errors.Is(err, os.ErrDeadlineExceeded):
			// The kernel says that a link went down, and nothing more if it is then deleted.
			if gone(e.sock) {
				return ErrGone
			}
			err = e.sock.SetReadDeadline(time.Now().Add(goneCheck))
			if ctx.Err() != nil || err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		}
		if c, ok := parseClaim(buf[:n]); ok {
			select {
			case claims <- c:
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// gone tells a deleted interface from one that is down: the kernel unbinds the socket.
func gone(sock *packet.Conn) bool {
	raw, err := sock.SyscallConn()
	if err != nil {
		return true
	}
	_, err = hardwareAddr(raw)
	return errors.Is(err, ErrGone)
}
