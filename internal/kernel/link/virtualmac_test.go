package link

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestListingFromBeforeItWasGivenBackIsNotRemembered: it would later have an operator's arp_announce taken for our own.
func TestListingFromBeforeItWasGivenBackIsNotRemembered(t *testing.T) {
	var h Handle
	links := []Link{{Index: 3, Name: "vrrp.51", Kind: macvlan, Below: 2, Alias: virtualAlias + "0"}}
	given := h.given.Load()
	h.given.Add(1)
	h.remember(links, given)
	_, known := h.before.Load(2)
	assert.False(t, known)

	h.remember(links, h.given.Load())
	before, _ := h.before.Load(2)
	assert.Equal(t, "0", before)

	h.before.Clear()
	links[0].Alias += virtualEnds
	h.remember(links, h.given.Load())
	_, known = h.before.Load(2)
	assert.False(t, known, "it is about to be deleted")
}
