package fence

import (
	"testing"
	"time"

	"github.com/google/nftables"
	"github.com/mdlayher/netlink"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/kernel/nfttables"
)

// What renews a lease by hand says the same as the library does.
func TestRenewalIsTheLibrarys(t *testing.T) {
	table := linkTable{layout: layout{7, "eth0", &nftables.Table{Name: "keepvip-7", Family: nftables.TableFamilyNetdev}}}
	want, err := nfttables.Encode(func(c *nftables.Conn) error { return table.putTime(c, leaseOf(3), 440*time.Millisecond) })
	require.NoError(t, err)
	got := timerAnew(table.table.Name, leaseOf(3), table.key(), 440*time.Millisecond)
	require.Len(t, got, 2)
	require.Len(t, want, 2)
	for i, m := range got {
		assert.Equal(t, want[i].Header.Type, m.Header.Type, i)
		assert.Equal(t, want[i].Data[:4], m.Data[:4], "struct nfgenmsg of message %d", i)
		assert.Equal(t, meaning(t, want[i].Data[4:]), meaning(t, m.Data[4:]), i)
	}
}

// meaning is the attributes of a message about elements, whatever their order and the flags of their types; zeros say nothing.
func meaning(t *testing.T, b []byte) map[string]string {
	t.Helper()
	out := map[string]string{}
	put := func(name string, v []byte) {
		if len(v) > 0 && string(v) != string(make([]byte, len(v))) {
			out[name] = string(v)
		}
	}
	attributes := func(b []byte) (map[uint16][]byte, error) {
		list, err := netlink.UnmarshalAttributes(b)
		byType := make(map[uint16][]byte, len(list))
		for _, a := range list {
			byType[a.Type&^(unix.NLA_F_NESTED|unix.NLA_F_NET_BYTEORDER)] = a.Data
		}
		return byType, err
	}
	all, err := attributes(b)
	require.NoError(t, err)
	put("table", all[unix.NFTA_SET_ELEM_LIST_TABLE])
	put("set", all[unix.NFTA_SET_ELEM_LIST_SET])
	list, err := attributes(all[unix.NFTA_SET_ELEM_LIST_ELEMENTS])
	require.NoError(t, err)
	element, err := attributes(list[unix.NFTA_LIST_ELEM])
	require.NoError(t, err)
	key, err := attributes(element[unix.NFTA_SET_ELEM_KEY])
	require.NoError(t, err)
	put("key", key[unix.NFTA_DATA_VALUE])
	put("timeout", element[unix.NFTA_SET_ELEM_TIMEOUT])
	put("flags", element[unix.NFTA_SET_ELEM_FLAGS])
	return out
}
