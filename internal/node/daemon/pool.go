package daemon

import (
	"io"
	"sync"
)

// pool opens one value for each key, which all that need it at the same time share. The zero value is empty. Safe for concurrent use.
type pool[K comparable, V io.Closer] struct {
	mu   sync.Mutex // guards open, and held while a value is opened or closed: the next one may need what this one has
	open map[K]*pooled[V]
}

type pooled[V io.Closer] struct {
	value V
	users int
}

// get returns the value of key, which open makes for the first user. release gives it back: after the last user it is closed.
func (p *pool[K, V]) get(key K, open func() (V, error)) (v V, release func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.open[key]
	if e == nil {
		if v, err = open(); err != nil {
			return v, nil, err
		}
		if p.open == nil {
			p.open = map[K]*pooled[V]{}
		}
		e = &pooled[V]{value: v}
		p.open[key] = e
	}
	e.users++
	return e.value, sync.OnceFunc(func() { p.leave(key, e) }), nil
}

// peek is the value of key, if somebody has it.
func (p *pool[K, V]) peek(key K) (v V, open bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.open[key]; e != nil {
		return e.value, true
	}
	return v, false
}

func (p *pool[K, V]) leave(key K, e *pooled[V]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.users--; e.users == 0 {
		delete(p.open, key)
		_ = e.value.Close() // nothing is lost with a socket that nobody reads
	}
}
