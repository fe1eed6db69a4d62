package fence

import (
	"encoding/binary"
	"syscall"
	"testing"
	"time"

	"github.com/google/nftables"
	"github.com/mdlayher/netlink"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// What renews a lease by hand says the same as the library does, which asks for more acknowledgements.
func TestRenewalBatchIsTheLibrarys(t *testing.T) {
	var want []netlink.Message
	c, err := nftables.New(nftables.WithTestDial(func(req []netlink.Message) ([]netlink.Message, error) {
		if len(req) > 0 {
			want = req
		}
		return []netlink.Message{{Header: netlink.Header{Type: netlink.Error}, Data: make([]byte, 20)}}, nil
	}))
	require.NoError(t, err)
	table := linkTable{layout: layout{7, "eth0", &nftables.Table{Name: "keepvip-7", Family: nftables.TableFamilyNetdev}}}
	require.NoError(t, table.putTime(c, leaseOf(3), 440*time.Millisecond))
	require.NoError(t, c.Flush())

	got, err := syscall.ParseNetlinkMessage(renewalBatch(10, table.table.Name, leaseOf(3), table.key(), 440*time.Millisecond))
	require.NoError(t, err)
	require.Len(t, got, 4)
	require.Len(t, want, 4)
	for i, m := range got {
		assert.Equal(t, uint16(want[i].Header.Type), m.Header.Type, i)
		assert.Equal(t, uint32(10+i), m.Header.Seq)
		assert.Equal(t, want[i].Data[:4], m.Data[:4], "struct nfgenmsg of message %d", i)
		assert.Equal(t, meaning(t, want[i].Data[4:]), meaning(t, m.Data[4:]), i)
	}
	assert.Equal(t, unix.NLM_F_ACK, int(got[2].Header.Flags&unix.NLM_F_ACK))
	assert.Zero(t, (got[0].Header.Flags|got[1].Header.Flags|got[3].Header.Flags)&unix.NLM_F_ACK)
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

func TestRenewalIsAcknowledged(t *testing.T) {
	answer := func(number uint32, code unix.Errno) syscall.NetlinkMessage {
		return syscall.NetlinkMessage{
			Header: syscall.NlMsghdr{Type: unix.NLMSG_ERROR, Seq: number},
			Data:   binary.NativeEndian.AppendUint32(nil, uint32(-int32(code))),
		}
	}
	for name, tt := range map[string]struct {
		give syscall.NetlinkMessage
		done bool
		err  error
	}{
		"what was asked for":                {answer(12, 0), true, nil},
		"the element is refused":            {answer(12, unix.ENOENT), true, unix.ENOENT},
		"there is no set to empty":          {answer(11, unix.ENOENT), false, unix.ENOENT},
		"the batch as a whole":              {answer(10, unix.EPERM), true, unix.EPERM},
		"an older question's":               {answer(9, unix.EINVAL), false, nil},
		"a later one's":                     {answer(14, unix.EINVAL), false, nil},
		"too short":                         {syscall.NetlinkMessage{Header: syscall.NlMsghdr{Type: unix.NLMSG_ERROR, Seq: 12}}, false, nil},
		"something else of the same number": {syscall.NetlinkMessage{Header: syscall.NlMsghdr{Type: 99, Seq: 12}, Data: make([]byte, 8)}, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			done, err := acknowledged(tt.give, 10)
			assert.Equal(t, tt.done, done)
			assert.ErrorIs(t, err, tt.err)
		})
	}
}
