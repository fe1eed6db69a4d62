package lab

import (
	"fmt"
	"net"
	"net/netip"
	"time"
)

// Ask asks a listener of the node, as root does, and returns the first line of the answer.
func (n *Node) Ask(to netip.AddrPort, path string, limit time.Duration) (line string, err error) {
	var c net.Conn
	if err := n.Do(func() (err error) { c, err = net.DialTimeout("tcp", to.String(), limit); return err }); err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(limit))
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", path); err != nil {
		return "", err
	}
	_, err = fmt.Fscanf(c, "HTTP/1.1 %s", &line)
	return line, err
}
