package control

import (
	"os"
	"sync"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/base/lack"
)

// reserved is how many descriptors a listener keeps for the time when this process has no other left: status and probes are answered then, too.
const reserved = 2

// reserve is descriptors that stand for nothing.
type reserve struct {
	mu    sync.Mutex // guards files
	files []*os.File
}

// fill opens what is missing, as far as there are descriptors.
func (r *reserve) fill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.files) < reserved {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return
		}
		r.files = append(r.files, f)
	}
}

// give makes room for a connection that could not be accepted for want of a descriptor, and tells whether it has.
func (r *reserve) give(err error) bool {
	if c := lack.Of(err); c != code.NoDescriptors && c != code.NoHostDescriptors {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.files)
	if n == 0 {
		return false
	}
	_ = r.files[n-1].Close() // nothing is written to it
	r.files = r.files[:n-1]
	return true
}

// drop gives all of them back.
func (r *reserve) drop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.files {
		_ = f.Close() // nothing was written to it
	}
	r.files = nil
}
