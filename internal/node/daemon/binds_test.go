package daemon

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

// A thousand IPv6 addresses take the kernel half a second, and an entry with one is elected in less.
func TestBindOfFewAddressesDoesNotWaitForOneOfMany(t *testing.T) {
	var q binds
	under, end := make(chan struct{}), make(chan struct{})
	add := func(_ int, addresses []netip.Prefix, _ time.Duration) error {
		if len(addresses) > fewAddresses {
			close(under)
			<-end
		}
		return nil
	}
	many, few := make(chan error, 1), make(chan error, 1)
	go func() { many <- q.do(bind{index: 2, addresses: make([]netip.Prefix, 1000)}, add) }()
	<-under
	go func() { few <- q.do(bind{index: 2, addresses: make([]netip.Prefix, 1)}, add) }()
	select {
	case err := <-few:
		require.NoError(t, err)
	case <-time.After(5 * time.Second):
		assert.Fail(t, "it waits")
	}
	close(end)
	require.NoError(t, <-many)
}
