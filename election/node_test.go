package election

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNodeText(t *testing.T) {
	a := netip.MustParseAddr("10.77.0.11")
	assert.Equal(t, []string{"n1 (10.77.0.11)", "10.77.0.11", ""}, []string{Node{a, "n1"}.String(), Node{Address: a}.String(), Node{}.String()})
}
