package control

import (
	"crypto"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certificate is a pair of files that is read again when one of them has changed. Until both are good together the former pair serves: they
// are replaced one after the other.
type certificate struct {
	cert, key string
	log       *slog.Logger

	mu   sync.Mutex // guards what follows
	read [2]stamp   // of what was read last, good or not
	pair *tls.Certificate
	turn chan struct{} // of the one that signs
}

// oneAtATime signs for one handshake at a time: with a long RSA key each takes some milliseconds of a processor, and the election is not to
// wait behind a second's worth of them. Whoever waits for a turn takes none.
type oneAtATime struct {
	crypto.Signer
	turn chan struct{} // has room for one
}

// Sign implements crypto.Signer.
func (s oneAtATime) Sign(rand io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	return s.Signer.Sign(rand, digest, opts)
}

func newCertificate(cert, key string, log *slog.Logger) *certificate {
	return &certificate{cert: cert, key: key, log: log, turn: make(chan struct{}, 1)}
}

// stamp tells a file from what was there before. The zero stamp is no file.
type stamp struct {
	info os.FileInfo
	made time.Time
	size int64
}

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{info, info.ModTime(), info.Size()}
}

func (s stamp) same(o stamp) bool {
	if s.info == nil || o.info == nil {
		return s.info == o.info
	}
	return s.made.Equal(o.made) && s.size == o.size && os.SameFile(s.info, o.info)
}

// get is for tls.Config.GetCertificate.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := [2]stamp{stampOf(c.cert), stampOf(c.key)}
	if c.pair != nil && now[0].same(c.read[0]) && now[1].same(c.read[1]) {
		return c.pair, nil
	}
	c.read = now
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	switch {
	case err == nil:
		if key, ok := pair.PrivateKey.(crypto.Signer); ok {
			pair.PrivateKey = oneAtATime{key, c.turn}
		}
		c.pair = &pair
	case c.pair == nil:
		return nil, fmt.Errorf("control: certificate of the metrics listener: %w", err)
	default:
		c.log.Warn("the new certificate of the metrics listener is not good, the former one serves", "error", err)
	}
	return c.pair, nil
}
