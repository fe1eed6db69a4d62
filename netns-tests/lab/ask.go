package lab

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// Ask asks a listener of the node, as root does, and returns the first line of the answer.
func (n *Node) Ask(to netip.AddrPort, path string, limit time.Duration) (line string, err error) {
	defer try.Catch(&err)
	c := try.Get(n.Dial(to, limit))
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(limit))
	try.Get(fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", path))
	_, err = fmt.Fscanf(c, "HTTP/1.1 %s", &line)
	return line, err
}
