package routing

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"path/filepath"
	"time"
)

const (
	// patience bounds all that is asked of one daemon.
	patience = time.Second
	// mostReply is how many bytes of a reply are read.
	mostReply = 1 << 20
)

// Daemon is a routing daemon of this host.
type Daemon struct {
	Name   string // "BIRD" or "FRR"
	Err    error  // why it could not be asked; then nothing else is known
	Routes map[netip.Addr]Route
	// Down are the neighbours, or protocols, by which nothing leaves now, with their states, as "uplink: BGP, start, Active".
	Down []string
}

// Route is what a daemon knows of a route to a single address.
type Route struct {
	Taken  bool     // from the kernel
	Leaves []string // the protocols of BIRD, or the neighbours of FRR, that are told of it
}

// daemons are those that are known, each with where packages and network plugins have its sockets.
var daemons = []struct {
	name    string
	sockets []string
	ask     func(ctx context.Context, socket string, addresses []netip.Addr, out *Daemon) error
}{
	{"BIRD", []string{"/run/bird/bird.ctl", "/run/bird.ctl", "/var/run/calico/bird.ctl", "/usr/local/var/run/bird.ctl"}, askBIRD},
	{"FRR", []string{"/run/frr/zebra.vty", "/var/run/frr/zebra.vty", "/var/lib/frr/zebra.vty"}, askFRR},
}

// Find asks the daemons that have a socket below root, "" but in tests, of routes to the addresses. None: no daemon has one, or there is no address.
func Find(ctx context.Context, root string, addresses []netip.Addr) (out []Daemon) {
	if len(addresses) == 0 {
		return nil
	}
	for _, d := range daemons {
		for _, path := range d.sockets {
			path = filepath.Join(root, path)
			found := Daemon{Name: d.name, Routes: map[netip.Addr]Route{}}
			err := d.ask(ctx, path, addresses, &found)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			found.Err = err
			out = append(out, found)
			break
		}
	}
	return out
}

// conn is a control socket.
type conn struct {
	net.Conn
	buffer []byte
}

// dial connects for as long as a daemon may be asked. An error wraps [fs.ErrNotExist] where there is no such socket.
func dial(ctx context.Context, path string) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &conn{Conn: c}, nil
}

// read reads on until whole finds the end of a reply, and returns the reply.
func (c *conn) read(whole func([]byte) int) ([]byte, error) {
	for {
		if n := whole(c.buffer); n > 0 {
			reply := c.buffer[:n]
			c.buffer = c.buffer[n:]
			return reply, nil
		}
		if len(c.buffer) > mostReply {
			return nil, fmt.Errorf("%s: a reply of more than %d bytes", c.RemoteAddr(), mostReply)
		}
		b := make([]byte, 16<<10)
		n, err := c.Read(b)
		if c.buffer = append(c.buffer, b[:n]...); err != nil {
			return nil, err
		}
	}
}
