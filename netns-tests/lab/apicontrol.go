package lab

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// APIMode is a state of health of the stand-in apiserver. A number ("401",
// "403", "500") makes it answer everything with that status.
type APIMode string

// Modes of the stand-in apiserver.
const (
	APIHealthy   APIMode = "ok"
	API401       APIMode = "401"
	API403       APIMode = "403"
	API500       APIMode = "500"
	APIHang      APIMode = "hang"      // takes requests, never answers
	APIHandshake APIMode = "handshake" // takes connections, never speaks TLS
	APIRefuse    APIMode = "refuse"    // closes its port, as if it were gone
	APISlow      APIMode = "slow"      // argument: delay of every answer
	APIShutdown  APIMode = "shutdown"  // /readyz 500 with "shutdown", the rest works
	APIDrip      APIMode = "drip"      // an endless body, a byte at a time
	APIHuge      APIMode = "huge"      // a body of 1 GiB
	APIHeaders   APIMode = "headers"   // header fields without end
	APINoise     APIMode = "noise"     // argument: per cent of requests that get 500
	APIEtcd      APIMode = "etcd"      // as without etcd's quorum: /readyz and /livez fail, some at once and some after 2 s; the rest works
)

// APIServer controls the stand-in apiserver of a node, a process of its own.
type APIServer struct {
	*Process
	node   *Node
	socket string
}

// StartAPIServer starts a healthy stand-in apiserver on the node and waits
// until it serves.
func (n *Node) StartAPIServer() (_ *APIServer, err error) {
	defer try.Catch(&err)
	if n.api != nil && n.api.Alive() {
		return n.api, nil
	}
	exe := try.Get(os.Executable())
	socket := n.Path("apiserver.sock")
	_ = os.Remove(socket)
	p := try.Get(n.StartCommand(Command{Name: "apiserver", Args: []string{exe}, Env: roleOf(roleAPIServer, standInConfig{n.Label, socket})}))
	n.api = &APIServer{Process: p, node: n, socket: socket}
	comes(10*time.Second, 5*time.Millisecond, func() bool {
		err = n.api.Set(APIHealthy, "")
		return err == nil || !p.Alive()
	})
	if err != nil {
		return nil, fmt.Errorf("lab: apiserver of %s does not start: %w: %s", n.Label, err, p.Log())
	}
	return n.api, nil
}

// API is the node's stand-in apiserver, nil if none was started.
func (n *Node) API() *APIServer { return n.api }

// Set puts the apiserver into a mode and returns when it is in it.
func (a *APIServer) Set(mode APIMode, arg string) (err error) {
	defer try.Say(&err, "lab: apiserver of %s", a.node.Label)
	conn := try.Get(net.DialTimeout("unix", a.socket, time.Second))
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	try.Get(fmt.Fprintf(conn, "%s %s\n", mode, arg))
	if answer := strings.TrimSpace(string(try.Get(io.ReadAll(conn)))); answer != "ok" {
		return errors.New(answer)
	}
	return nil
}
