package lab

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// httpsStream sends a request through the virtual address at each interval,
// every one over a new connection, and notes which node served it.
type httpsStream struct {
	measuring
	lab      *Lab
	target   netip.AddrPort
	path     string
	interval time.Duration
	retry    time.Duration // a request that fails is made once more after that, 0 = never
	requests sync.WaitGroup

	mu      sync.Mutex
	samples []sample
}

// httpsLimit is how long one request may take, connecting included.
const httpsLimit = time.Second

func (l *Lab) startHTTPS(cfg MeasureConfig) (*httpsStream, error) {
	s := &httpsStream{
		lab: l, target: netip.AddrPortFrom(cfg.Targets[0], apiPort), path: cfg.HTTPSPath, interval: cfg.HTTPSInterval, retry: cfg.HTTPSRetry,
	}
	return s, s.startIn(l.Client.Namespace, s.run)
}

// run opens the connections inside the client's namespace.
func (s *httpsStream) run() {
	for next := s.lab.Now(); !s.stop.Load(); {
		time.Sleep(next - s.lab.Now())
		now := s.lab.Now()
		s.mu.Lock()
		index := len(s.samples)
		s.samples = append(s.samples, sample{sent: now})
		s.mu.Unlock()
		s.begin(index)
		if next += s.interval; now > next+stallLimit {
			next = now
		}
	}
}

// begin opens the socket of a request: where it is opened is where it belongs.
func (s *httpsStream) begin(index int) {
	if fd, err := socketTCP(s.target); err == nil {
		err = connectTCP(fd, s.target)
		s.requests.Go(func() { s.request(index, fd, err) })
	}
}

func socketTCP(to netip.AddrPort) (int, error) {
	return unix.Socket(familyOf(to.Addr()), unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
}

// connectTCP begins a connection and does not wait for it.
func connectTCP(fd int, to netip.AddrPort) error {
	if err := unix.Connect(fd, sockaddr(to)); !errors.Is(err, unix.EINPROGRESS) {
		return err
	}
	return nil
}

// request ends what begin has begun; err is that of the beginning.
func (s *httpsStream) request(index, fd int, err error) {
	s.mu.Lock()
	began := s.samples[index].sent
	s.mu.Unlock()
	node, err := exchange(fd, err, s.path, httpsLimit-(s.lab.Now()-began))
	took, again := s.lab.Now()-began, error(nil)
	if err != nil && s.retry > 0 {
		time.Sleep(s.retry)
		_, again = askAt(s.lab.Client.Namespace, s.target, s.path, httpsLimit)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.samples[index].reset = errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.EPIPE)
		s.samples[index].twice = again != nil
		s.samples[index].failure = lastOf(err)
		return
	}
	s.samples[index].node, s.samples[index].latency = byte(node), took
}

// lastOf is the cause at the end of a chain of errors.
func lastOf(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}

// Ask makes one HTTPS request to the apiserver's port at an address, over a new
// connection; it returns the number of the node that answered with 200.
func (l *Lab) Ask(from *Namespace, addr netip.Addr, path string, limit time.Duration) (node int, err error) {
	return askAt(from, netip.AddrPortFrom(addr, apiPort), path, limit)
}

func askAt(from *Namespace, to netip.AddrPort, path string, limit time.Duration) (node int, err error) {
	fd := -1
	began := time.Now()
	err = from.Do(func() (err error) {
		if fd, err = socketTCP(to); err == nil {
			err = connectTCP(fd, to)
		}
		return err
	})
	return exchange(fd, err, path, limit-time.Since(began))
}

// exchange finishes a connection, whose beginning may have failed, and makes one request; it
// returns the node that answered with 200.
func exchange(fd int, failed error, path string, limit time.Duration) (node int, err error) {
	defer try.Catch(&err)
	if failed != nil {
		unix.Close(fd)
		return 0, failed
	}
	deadline := time.Now().Add(limit)
	raw := try.Get(connected(fd, deadline))
	defer raw.Close()
	try.Do(raw.SetDeadline(deadline))
	// The stand-in signs its own certificate; who answers is what is measured.
	// A hybrid key exchange would double what a request costs on a machine that is client and servers in one.
	conn := tls.Client(raw, &tls.Config{InsecureSkipVerify: true, CurvePreferences: []tls.CurveID{tls.X25519}})
	try.Get(fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: kubernetes\r\nConnection: close\r\n\r\n", path))
	response := try.Get(http.ReadResponse(bufio.NewReader(io.LimitReader(conn, 1<<17)), nil))
	defer response.Body.Close()
	const most = 1 << 16
	if n, err := io.Copy(io.Discard, io.LimitReader(response.Body, most)); err != nil || n == most {
		return 0, errors.Join(err, fmt.Errorf("lab: answer of %d bytes", n))
	}
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("lab: status %d", response.StatusCode)
	}
	return answerer(response.Header, conn.ConnectionState().PeerCertificates)
}

// answerer is the number of the node that answered: the stand-in says it, and a
// real apiserver's certificate names its host.
func answerer(header http.Header, certs []*x509.Certificate) (node int, err error) {
	names := []string{header.Get("X-Node")}
	if len(certs) > 0 {
		names = append(names, certs[0].DNSNames...)
	}
	for _, name := range names {
		if digits, ok := strings.CutPrefix(name, "n"); ok {
			if node, err := strconv.ParseUint(digits, 10, 6); err == nil {
				return int(node), nil
			}
		}
	}
	return 0, fmt.Errorf("lab: the answer names no node: %q", names)
}

// connected waits for a connection that was begun and takes over fd.
func connected(fd int, deadline time.Time) (_ net.Conn, err error) {
	defer try.Catch(&err)
	f := os.NewFile(uintptr(fd), "tcp")
	defer f.Close()
	try.Do(f.SetWriteDeadline(deadline))
	raw := try.Get(f.SyscallConn())
	var failed error
	try.Do(raw.Write(func(fd uintptr) bool {
		if failed = socketError(int(fd)); failed != nil {
			return true
		}
		_, err := unix.Getpeername(int(fd))
		return err == nil
	}))
	if failed != nil {
		return nil, failed
	}
	return net.FileConn(f)
}

func (s *httpsStream) finish() StreamReport {
	s.halt()
	s.requests.Wait()
	return summarize("c1 https", s.target.Addr(), s.interval, s.samples)
}

// Ask asks a listener of the node without TLS, as root does, and returns the first line of the answer.
func (n *Node) Ask(to netip.AddrPort, path string, limit time.Duration) (line string, err error) {
	defer try.Catch(&err)
	c := try.Get(n.Dial(to, limit))
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(limit))
	try.Get(fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", path))
	_, err = fmt.Fscanf(c, "HTTP/1.1 %s", &line)
	return line, err
}
