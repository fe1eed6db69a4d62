package daemon

import (
	"errors"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/internal/base/coalesce"
)

// bind asks for addresses on a link, or for a new lifetime of them.
type bind struct {
	index     int
	addresses []netip.Prefix
	valid     time.Duration
}

// fewAddresses go to the kernel in one message (link.Handle.Add), so that who is behind them waits for no more.
const fewAddresses = 100

// binds has those who bind at the same moment do so together. Who binds few addresses waits for nobody who binds many, but for the one message
// of that which is on its way: a thousand IPv6 addresses take a kernel half a second. The zero value is ready, and may be used from
// several goroutines.
type binds struct{ few, many coalesce.Queue[bind] }

// do has add bind what b asks for, with what others ask for at the moment.
func (q *binds) do(b bind, add func(index int, addresses []netip.Prefix, valid time.Duration) error) error {
	queue := &q.few
	if len(b.addresses) > fewAddresses {
		queue = &q.many
	}
	return queue.Do(b, func(all ...bind) error { return bindTogether(all, add) })
}

// wait returns when those who were binding are done.
func (q *binds) wait() {
	q.many.Wait()
	q.few.Wait()
}

// bindTogether makes one list of those with the same link and lifetime.
func bindTogether(all []bind, add func(index int, addresses []netip.Prefix, valid time.Duration) error) error {
	type kind struct {
		index int
		valid time.Duration
	}
	var kinds []kind
	lists := map[kind][]netip.Prefix{}
	for _, b := range all {
		k := kind{b.index, b.valid}
		if _, known := lists[k]; !known {
			kinds = append(kinds, k)
		}
		lists[k] = append(lists[k], b.addresses...)
	}
	var errs []error
	for _, k := range kinds {
		errs = append(errs, add(k.index, lists[k], k.valid))
	}
	return errors.Join(errs...)
}
