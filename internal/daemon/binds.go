package daemon

import (
	"errors"
	"net/netip"
	"time"
)

// bind asks for addresses on a link, or for a new lifetime of them.
type bind struct {
	index     int
	addresses []netip.Prefix
	valid     time.Duration
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
