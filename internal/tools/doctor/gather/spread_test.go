package gather

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/tools/doctor"
)

func TestModulesOfTheKernelAreRead(t *testing.T) {
	assert.Equal(t, doctor.SpreadModules(), missingFrom(nil))
	assert.Equal(t, []string{"nft_hash"}, missingFrom([]byte(`kernel/net/netfilter/nf_conntrack.ko
kernel/net/netfilter/nft_ct.ko.zst: kernel/net/netfilter/nf_conntrack.ko.zst
kernel/net/netfilter/nft-nat.ko.xz:
kernel/net/netfilter/nft_chain_nat.ko: kernel/net/netfilter/nf_nat.ko
kernel/net/ipv4/netfilter/nft_dup_ipv4.ko: kernel/net/ipv4/netfilter/nf_dup_ipv4.ko
kernel/net/ipv6/netfilter/nft_dup_ipv6.ko:
kernel/net/ipv4/netfilter/nft_fib_ipv4.ko:
kernel/net/ipv6/netfilter/nft_fib_ipv6.ko:
kernel/net/netfilter/nft_fwd_netdev.ko: kernel/net/netfilter/nf_dup_netdev.ko kernel/net/netfilter/nft_hash.ko
`)))
	assert.Empty(t, missingModules(t.TempDir()), "no list: nothing is known")
}

// An interface that has no such flag, as the loopback interface, is no error.
func TestLargeReceiveIsAskedOfTheDriver(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer func() { _ = unix.Close(fd) }()
	flags, err := ethtoolFlags(fd, "lo")
	require.NoError(t, err)
	assert.Zero(t, flags&ethtoolLRO)
	_, err = ethtoolFlags(fd, "none")
	assert.ErrorIs(t, err, unix.ENODEV)
}
