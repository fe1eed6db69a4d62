package daemon

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestBindTogetherByLinkAndLifetime(t *testing.T) {
	prefix := func(i byte) netip.Prefix { return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, i}), 32) }
	all := []bind{
		{index: 2, addresses: []netip.Prefix{prefix(1), prefix(2)}, valid: time.Minute},
		{index: 3, addresses: []netip.Prefix{prefix(3)}, valid: time.Minute},
		{index: 2, addresses: []netip.Prefix{prefix(4)}, valid: time.Second},
		{index: 2, addresses: []netip.Prefix{prefix(5)}, valid: time.Minute},
	}
	refused := errors.New("refused")
	var got []string
	err := bindTogether(all, func(index int, addresses []netip.Prefix, valid time.Duration) error {
		got = append(got, fmt.Sprint(index, addresses, valid))
		if index == 3 {
			return refused
		}
		return nil
	})
	assert.ErrorIs(t, err, refused)
	assert.Equal(t, []string{
		"2 [10.0.0.1/32 10.0.0.2/32 10.0.0.5/32] 1m0s", "3 [10.0.0.3/32] 1m0s", "2 [10.0.0.4/32] 1s",
	}, got, "one that is refused does not keep the others back")
}
