package conntrack

import (
	"encoding/binary"
	"net/netip"
	"syscall"
	"testing"

	"github.com/mdlayher/netlink"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// encoded is an entry as the kernel says it.
func encoded(t testing.TB, e Entry) []byte {
	t.Helper()
	ae := netlink.NewAttributeEncoder()
	ae.Nested(attrOriginal, e.tuple)
	if e.Zone != 0 {
		ae.Bytes(attrZone, binary.BigEndian.AppendUint16(nil, e.Zone))
	}
	ae.Nested(attrReply, Entry{Protocol: e.Protocol, Source: e.Answers, Dest: e.Source}.tuple)
	if e.State != 0 {
		ae.Nested(attrProtoInfo, func(ae *netlink.AttributeEncoder) error {
			ae.Nested(infoTCP, func(ae *netlink.AttributeEncoder) error {
				ae.Uint8(infoTCPState, e.State)
				return nil
			})
			return nil
		})
	}
	b, err := ae.Encode()
	require.NoError(t, err)
	return b
}

func entry(protocol uint8, source, dest, answers string, state uint8) Entry {
	return Entry{
		Protocol: protocol, Source: netip.MustParseAddrPort(source), Dest: netip.MustParseAddrPort(dest), Answers: netip.MustParseAddrPort(answers), State: state,
	}
}

func TestEntryIsRead(t *testing.T) {
	zoned := entry(unix.IPPROTO_TCP, "10.1.0.9:40000", "10.1.0.100:9443", "10.1.0.5:6443", 3)
	zoned.Zone = 7
	for name, e := range map[string]Entry{
		"zone": zoned,
		"IPv4": entry(unix.IPPROTO_TCP, "10.1.0.9:40000", "10.1.0.100:9443", "10.1.0.5:6443", 3),
		"IPv6": entry(unix.IPPROTO_TCP, "[fd01::9]:40000", "[fd01::100]:9443", "[fd01::5]:6443", SynSent),
		"UDP":  entry(unix.IPPROTO_UDP, "10.1.0.9:40000", "10.1.0.100:53", "10.1.0.5:5353", 0),
	} {
		got, ok := parse(encoded(t, e))
		assert.True(t, ok, name)
		assert.Equal(t, e, got, name)
	}
}

func TestEntryThatIsCutOff(t *testing.T) {
	whole := encoded(t, entry(unix.IPPROTO_TCP, "10.1.0.9:40000", "10.1.0.100:9443", "10.1.0.5:6443", 3))
	reply := len(encoded(t, entry(unix.IPPROTO_TCP, "10.1.0.9:40000", "10.1.0.100:9443", "10.1.0.5:6443", 0)))
	for n := range reply {
		_, ok := parse(whole[:n])
		assert.False(t, ok, n)
	}
}

func TestOpenConnection(t *testing.T) {
	for state, want := range map[uint8]bool{0: false, SynSent: false, SynRecv: true, 3: true, LastACK: true, TimeWait: false, Closed: false} {
		assert.Equal(t, want, Entry{State: state}.Open(), state)
	}
}

// TestAliveConnection: one that begins is alive, too. Where its server is dead, all its repetitions would go there.
func TestAliveConnection(t *testing.T) {
	for state, want := range map[uint8]bool{0: false, SynSent: true, SynRecv: true, 3: true, LastACK: true, TimeWait: false, Closed: false} {
		assert.Equal(t, want, Entry{Protocol: unix.IPPROTO_TCP, State: state}.Alive(), state)
	}
	assert.True(t, Entry{Protocol: unix.IPPROTO_UDP}.Alive())
}

// TestRefusal of the kernel, which may also come at the end of a list.
func TestRefusal(t *testing.T) {
	said := func(kind uint16, code int32) syscall.NetlinkMessage {
		return syscall.NetlinkMessage{Header: syscall.NlMsghdr{Type: kind}, Data: binary.NativeEndian.AppendUint32(nil, uint32(-code))}
	}
	assert.ErrorIs(t, refusal(said(unix.NLMSG_ERROR, int32(unix.EPERM))), unix.EPERM)
	assert.ErrorIs(t, refusal(said(unix.NLMSG_DONE, int32(unix.ENOBUFS))), unix.ENOBUFS)
	assert.NoError(t, refusal(said(unix.NLMSG_ERROR, 0)))
	assert.NoError(t, refusal(said(unix.NLMSG_DONE, 0)))
	assert.NoError(t, refusal(syscall.NetlinkMessage{Header: syscall.NlMsghdr{Type: unix.NLMSG_DONE}}))
}

// TestDeleteOfNothingInParticular is refused: without addresses the kernel would delete all.
func TestDeleteOfNothingInParticular(t *testing.T) {
	c := &Conn{fd: -1}
	assert.ErrorContains(t, c.Delete(Entry{Protocol: unix.IPPROTO_TCP}), "want addresses of one family")
	assert.ErrorContains(t, c.Delete(entry(unix.IPPROTO_TCP, "10.1.0.9:40000", "[fd01::100]:9443", "10.1.0.5:6443", 3)), "want addresses of one family")
}

func FuzzEntry(f *testing.F) {
	f.Add(encoded(f, entry(unix.IPPROTO_TCP, "10.1.0.9:40000", "10.1.0.100:9443", "10.1.0.5:6443", 3)))
	f.Add(encoded(f, entry(unix.IPPROTO_UDP, "[fd01::9]:1", "[fd01::100]:53", "[fd01::5]:5353", 0)))
	f.Add([]byte{3, 0, 1, 0})
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = parse(b) })
}
