package lab

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	randv2 "math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/keepvip/keepvip/netns-tests/try"
)

const apiPort = 6443

// standIn is the stand-in apiserver: HTTPS on port 6443 of every address, with
// a certificate that names "kubernetes" and no address, as kubeadm's does not
// name 127.0.0.1. Commands on a unix socket make it unhealthy.
type standIn struct {
	node string
	cert tls.Certificate

	mu      sync.Mutex
	mode    APIMode
	arg     string
	changed chan struct{} // closed and replaced on every change of mode
	server  *http.Server
}

// standInConfig is what the helper process of [Node.StartAPIServer] is told.
type standInConfig struct{ Node, Socket string }

// runAPIServer is that process.
func runAPIServer(c standInConfig) (err error) {
	defer try.Catch(&err)
	s := &standIn{node: c.Node, cert: try.Get(selfSigned()), mode: APIHealthy, changed: make(chan struct{})}
	try.Do(s.listen())
	control := try.Get(net.Listen("unix", c.Socket))
	for {
		s.command(try.Get(control.Accept()))
	}
}

// command reads one line "mode [argument]" and answers "ok" or an error.
func (s *standIn) command(conn net.Conn) {
	defer conn.Close()
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return
	}
	mode, arg, _ := strings.Cut(strings.TrimSpace(line), " ")
	if err := s.set(APIMode(mode), arg); err != nil {
		fmt.Fprintln(conn, err)
		return
	}
	fmt.Fprintln(conn, "ok")
}

func (s *standIn) set(mode APIMode, arg string) error {
	s.mu.Lock()
	was := s.mode
	s.mode, s.arg = mode, arg
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()
	switch {
	case mode == APIRefuse && was != APIRefuse:
		return s.server.Close()
	case mode != APIRefuse && was == APIRefuse:
		return s.listen()
	}
	return nil
}

func (s *standIn) listen() (err error) {
	defer try.Catch(&err)
	inner := try.Get(net.Listen("tcp", fmt.Sprintf(":%d", apiPort)))
	s.server = &http.Server{
		Handler: s, TLSConfig: &tls.Config{Certificates: []tls.Certificate{s.cert}},
		ReadHeaderTimeout: time.Minute,
	}
	server := s.server
	go func() { _ = server.ServeTLS(stalling{Listener: inner, in: s}, "", "") }()
	return nil
}

// stalling accepts connections but leaves them alone in mode "handshake".
type stalling struct {
	net.Listener
	in *standIn
}

func (l stalling) Accept() (_ net.Conn, err error) {
	defer try.Catch(&err)
	for {
		conn := try.Get(l.Listener.Accept())
		mode, _, changed := l.in.now()
		if mode != APIHandshake {
			return conn, nil
		}
		go func() {
			<-changed
			conn.Close()
		}()
	}
}

func (s *standIn) now() (mode APIMode, arg string, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mode, s.arg, s.changed
}

func (s *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	mode, arg, changed := s.now()
	w.Header().Set("X-Node", s.node)
	switch mode {
	case APIHang:
		select {
		case <-changed:
		case <-r.Context().Done():
		}
		return
	case APISlow:
		delay, _ := time.ParseDuration(arg)
		pauseFor(r.Context(), delay)
	case APIDrip:
		drip(w, r)
		return
	case APIHuge:
		block := make([]byte, 1<<16)
		for range 1 << 14 {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
		return
	case APIHeaders:
		endlessHeaders(w)
		return
	case APIShutdown:
		if r.URL.Path == "/readyz" {
			http.Error(w, "[+]ping ok\n[-]shutdown failed: reason withheld\nreadyz check failed", http.StatusInternalServerError)
			return
		}
	case APINoise:
		percent, _ := strconv.Atoi(arg)
		if randv2.IntN(100) < percent {
			http.Error(w, "noise", http.StatusInternalServerError)
			return
		}
	case APIEtcd:
		if r.URL.Path == "/readyz" || r.URL.Path == "/livez" {
			withoutEtcd(w, r)
			return
		}
	case APIHealthy:
	default:
		if code, err := strconv.Atoi(string(mode)); err == nil {
			http.Error(w, string(mode), code)
			return
		}
	}
	fmt.Fprint(w, "ok")
}

// withoutEtcd fails as a check does that waits for etcd, or is told at once that it is gone.
func withoutEtcd(w http.ResponseWriter, r *http.Request) {
	if randv2.IntN(2) == 0 && !pauseFor(r.Context(), 2*time.Second) {
		return
	}
	http.Error(w, "[-]etcd failed: reason withheld\nreadyz check failed", http.StatusInternalServerError)
}

// drip sends a byte now and then, so that no read of the client times out.
func drip(w http.ResponseWriter, r *http.Request) {
	for more := true; more; more = pauseFor(r.Context(), 100*time.Millisecond) {
		if _, err := w.Write([]byte{'.'}); err != nil || http.NewResponseController(w).Flush() != nil {
			return
		}
	}
}

// endlessHeaders answers with header fields until the client has enough.
func endlessHeaders(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	line := []byte("X-Filler: " + strings.Repeat("x", 1000) + "\r\n")
	for _, err = conn.Write([]byte("HTTP/1.1 200 OK\r\n")); err == nil; {
		_, err = conn.Write(line)
	}
}

func selfSigned() (_ tls.Certificate, err error) {
	defer try.Catch(&err)
	key := try.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kube-apiserver"}, DNSNames: []string{"kubernetes"},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(365 * 24 * time.Hour),
	}
	der := try.Get(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
