package places

import (
	"container/list"
	"sync"
)

// Keeper gives out places. It is safe from any goroutine.
type Keeper[T any] struct {
	mu     sync.Mutex // guards what follows
	most   int
	taken  int
	owners map[string]*owner // none is without a place
	arrive uint64            // places given out so far
	lost   uint64            // places taken away so far
}

// owner has places.
type owner struct {
	list.List     // of *Place, the oldest first
	busy      int // of them
}

// Place is that of one connection.
type Place[T any] struct {
	Value T
	Owner string

	keeper  *Keeper[T]
	at      *list.Element // nil: it has lost the place, or given it back
	arrived uint64
	busy    bool
}

// New makes a Keeper of so many places.
func New[T any](most int) *Keeper[T] {
	return &Keeper[T]{most: most, owners: map[string]*owner{}}
}

// Take gives v a place. lost is the place that was taken away for it: its connection has to be ended. Both are nil where there is no place to be had,
// since all are kept.
func (k *Keeper[T]) Take(of string, v T) (got, lost *Place[T]) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.taken >= k.most {
		if lost = k.victim(of); lost == nil {
			return nil, nil
		}
		k.remove(lost)
		k.lost++
	}
	o := k.owners[of]
	if o == nil {
		o = &owner{}
		k.owners[of] = o
	}
	k.arrive++
	got = &Place[T]{Value: v, Owner: of, keeper: k, arrived: k.arrive}
	got.at = o.PushBack(got)
	k.taken++
	return got, lost
}

// victim is the oldest place that can be taken away of the owner who has the most of these, that of the newcomer counted. Where two have as
// many it is the newcomer's own, or else the older one. The caller holds the lock.
func (k *Keeper[T]) victim(newcomer string) (out *Place[T]) {
	most := 0
	for name, o := range k.owners {
		n := o.Len() - o.busy
		if n == 0 {
			continue
		}
		first := oldest[T](o)
		if name == newcomer {
			n++
		}
		better := n > most || n == most && (name == newcomer || out.Owner != newcomer && first.arrived < out.arrived)
		if better {
			out, most = first, n
		}
	}
	return out
}

// oldest is the oldest place of one owner that is not busy; there is one.
func oldest[T any](o *owner) *Place[T] {
	e := o.Front()
	for e.Value.(*Place[T]).busy {
		e = e.Next()
	}
	return e.Value.(*Place[T])
}

// remove forgets a place that is taken. The caller holds the lock.
func (k *Keeper[T]) remove(p *Place[T]) {
	o := k.owners[p.Owner]
	if p.busy {
		o.busy--
	}
	o.Remove(p.at)
	if p.at = nil; o.Len() == 0 {
		delete(k.owners, p.Owner)
	}
	k.taken--
}

// Leave gives the place back. It may be called more than once.
func (p *Place[T]) Leave() {
	p.keeper.mu.Lock()
	defer p.keeper.mu.Unlock()
	if p.at != nil {
		p.keeper.remove(p)
	}
}

// Keep has the place not be taken away, or no longer.
func (p *Place[T]) Keep(busy bool) {
	p.keeper.mu.Lock()
	defer p.keeper.mu.Unlock()
	if p.at != nil && p.busy != busy {
		p.keeper.owners[p.Owner].busy += map[bool]int{true: 1, false: -1}[busy]
	}
	p.busy = busy
}

// Count is how it stands with the places.
type Count struct {
	Most  int    // places
	Taken int    // of them
	Lost  uint64 // taken away so far
}

// Count is how it stands now.
func (k *Keeper[T]) Count() Count {
	k.mu.Lock()
	defer k.mu.Unlock()
	return Count{Most: k.most, Taken: k.taken, Lost: k.lost}
}

// Resize changes how many there are. What is too many then is returned, and has lost its place.
func (k *Keeper[T]) Resize(most int) (lost []*Place[T]) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for k.most = most; k.taken > k.most; {
		p := k.victim("")
		if p == nil {
			break
		}
		k.remove(p)
		k.lost++
		lost = append(lost, p)
	}
	return lost
}
