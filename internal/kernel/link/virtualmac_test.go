package link

import (
	"net/netip"
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

// TestInterfaceThatSomebodyUsesIsNotHalfMade: an interface that a run of keepvip has left half made is deleted. Anything
// that somebody has done with it shows another owner.
func TestInterfaceThatSomebodyUsesIsNotHalfMade(t *testing.T) {
	v := VirtualMAC{Name: "vrrp.51", On: 2, MAC: RouterMAC(true, 51)}
	left := Link{Index: 3, Name: v.Name, Kind: macvlan, Below: 2, MAC: v.MAC}
	assert.NoError(t, v.Refuse(left))
	for name, change := range map[string]func(*Link){
		"up":                        func(l *Link) { l.Up, l.set = true, true },
		"set up without carrier":    func(l *Link) { l.set = true },
		"an address":                func(l *Link) { l.Addresses = []Address{{Prefix: netip.MustParsePrefix("10.1.0.9/24")}} },
		"an alias":                  func(l *Link) { l.Alias = "of an operator" },
		"on another interface":      func(l *Link) { l.Below = 4 },
		"the MAC of another router": func(l *Link) { l.MAC = RouterMAC(true, 52) },
		"of another kind":           func(l *Link) { l.Kind = "dummy" },
	} {
		l := left
		change(&l)
		assert.ErrorIs(t, v.Refuse(l), errTaken, name)
	}
}
