package daemon

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/kernel/link"
)

// noted is what is on link 2 after it was listed with some addresses, and then noted.
func noted(listed []link.Address, note func(*seen)) []link.Address {
	var s seen
	s.keep([]link.Link{{Index: 2, Name: "eth0", Addresses: listed}}, 0)
	note(&s)
	return s.now().all[0].Addresses
}

func prefixes(all ...string) (out []netip.Prefix) {
	for _, p := range all {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}

// TestRenewalChangesNothingThatWasSeen, also where an IPv6 address has another prefix length than is asked for: a listing
// that is under way is still believed.
func TestRenewalChangesNothingThatWasSeen(t *testing.T) {
	asked := prefixes("10.1.0.100/32", "fd77::100/128", "fd77::101/128")
	var s seen
	s.keep([]link.Link{{Index: 2, Name: "eth0", Addresses: []link.Address{
		{Prefix: netip.MustParsePrefix("10.1.0.5/24")},
		{Prefix: netip.MustParsePrefix("fd77::100/64"), Valid: time.Hour},
	}}}, 0)
	s.note(2, asked, true)
	generation, links := s.last()
	assert.Equal(t, uint64(1), generation)
	for range 3 {
		s.note(2, asked, true)
	}
	again, same := s.last()
	assert.Equal(t, generation, again)
	assert.Same(t, &links[0], &same[0])
	assert.True(t, s.keep(links, generation))
}

// TestWhatIsBoundIsNotedAsTheKernelHasIt: an IPv6 address once, with the prefix length that it has, an IPv4 address with each.
func TestWhatIsBoundIsNotedAsTheKernelHasIt(t *testing.T) {
	foreign := func(p string) link.Address { return link.Address{Prefix: netip.MustParsePrefix(p)} }
	ours := func(p string) link.Address { return link.Address{Prefix: netip.MustParsePrefix(p), Ours: true} }
	there := []link.Address{foreign("10.1.0.5/24"), foreign("10.1.0.100/24"), foreign("fd77::100/64"), foreign("fd77::5/64")}
	assert.ElementsMatch(t, []link.Address{
		foreign("10.1.0.5/24"), foreign("10.1.0.100/24"), ours("10.1.0.100/32"), ours("fd77::100/64"), foreign("fd77::5/64"), ours("fd77::101/128"),
	}, noted(there, func(s *seen) {
		s.note(2, prefixes("10.1.0.100/32", "fd77::100/128", "fd77::101/128", "fd77::101/64"), true)
	}))
	assert.Equal(t, foreign("fd77::100/64"), there[2], "others look at it still")
	assert.Equal(t, there, noted(there, func(s *seen) { s.note(2, prefixes("10.1.0.100/32", "fd77::100/128"), false) }))
	assert.Equal(t, there[3:], noted(there, func(s *seen) {
		s.note(2, prefixes("10.1.0.5/24", "10.1.0.100/24", "fd77::100/64"), false)
	}))
}

// BenchmarkRenewalOfManyAddresses is what a renewal of a thousand costs beside the kernel's part.
func BenchmarkRenewalOfManyAddresses(b *testing.B) {
	var asked []netip.Prefix
	for i := range 1000 {
		asked = append(asked, netip.MustParsePrefix(fmt.Sprintf("fd77::%x/128", i+1)))
	}
	var s seen
	s.keep([]link.Link{{Index: 2, Name: "eth0"}}, 0)
	s.note(2, asked, true)
	for b.Loop() {
		s.note(2, asked, true)
	}
}
