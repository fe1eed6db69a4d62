package daemon

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/kernel/link"
)

// A listing that ran while a bearer was made has seen it without its mark. That one is not there beside the whole one: it would be taken for what a killed
// run has left, and deleted, while the entry goes on with its index.
func TestBearerThatWasSeenHalfMadeIsThereOnce(t *testing.T) {
	var s seen
	generation, _ := s.last()
	eth0, half := link.Link{Index: 2, Name: "eth0"}, link.Link{Index: 3, Name: "vrrp.51", Kind: "macvlan", Below: 2}
	whole := half
	whole.Alias = "keepvip arp_announce=0"
	assert.True(t, s.keep([]link.Link{eth0, half}, generation))
	s.put(whole)
	_, links := s.last()
	assert.Equal(t, []link.Link{eth0, whole}, links)
	s.remove(whole.Index)
	_, links = s.last()
	assert.Equal(t, []link.Link{eth0}, links)
}
