package health

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/keepvip/keepvip/internal/base/regular"
)

// maxFile bounds a credential that is read.
const maxFile = 1 << 20

// watchedFile keeps what was made of a file, and makes it anew when the file has changed: certificates and tokens are rotated
// under a running daemon. A file that is gone, or no good any more, is not remembered: trusting an old CA for ever would be wrong.
type watchedFile[T any] struct {
	what, path string // "CA file", "/etc/..."
	parse      func([]byte) (T, error)

	value  T
	parsed fs.FileInfo // of what value was made of; nil: none
}

// load returns the value and whether it is another one than last time. Errors name the file.
func (f *watchedFile[T]) load() (value T, fresh bool, err error) {
	fail := func(err error) (T, bool, error) {
		var none T
		f.value, f.parsed = none, nil
		return none, false, fmt.Errorf("%s %s: %w", f.what, f.path, err)
	}
	info, err := os.Stat(f.path)
	if err != nil {
		return fail(regular.Plain(err))
	}
	if f.parsed != nil && os.SameFile(info, f.parsed) && info.ModTime().Equal(f.parsed.ModTime()) && info.Size() == f.parsed.Size() {
		return f.value, false, nil
	}
	data, err := regular.Read(f.path, maxFile)
	if err != nil {
		return fail(err)
	}
	if value, err = f.parse(data); err != nil {
		return fail(err)
	}
	f.value, f.parsed = value, info
	return value, true, nil
}

func parsePool(pem []byte) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("no certificate in it, want PEM")
	}
	return pool, nil
}

// errStuck is a file system that hangs, as one of a server that is gone.
var errStuck = errors.New("the file system does not answer")

// patient runs what may hang in the kernel for as long as it likes, one at a time: the caller goes on when its ctx ends. The
// goroutine that hangs is left alone, for nothing can end it.
type patient[T any] struct {
	running chan T
}

// do waits for f, or for an earlier one that hangs, until ctx ends; then the error is errStuck.
func (p *patient[T]) do(ctx context.Context, f func() T) (T, error) {
	if p.running == nil {
		done := make(chan T, 1)
		p.running = done
		go func() { done <- f() }()
	}
	select {
	case v := <-p.running:
		p.running = nil
		return v, nil
	case <-ctx.Done():
		var none T
		return none, errStuck
	}
}
