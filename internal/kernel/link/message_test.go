package link

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestLifetime(t *testing.T) {
	tests := []struct {
		name string
		give time.Duration
		want uint32
		err  string
	}{
		{name: "for ever", give: 0, want: forever},
		{name: "whole seconds", give: 4 * time.Second, want: 4},
		{name: "rounded up", give: 4*time.Second + 1, want: 5},
		{name: "never 0, which the kernel refuses", give: 1, want: 1},
		{name: "longer than the kernel counts", give: 1 << 62, want: forever},
		{name: "negative", give: -1, err: "lifetime -1ns, want 0 (for ever) or more"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := lifetime(tt.give)
			if tt.err != "" {
				require.EqualError(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestCheckRefusesWhatTheKernelMisreads(t *testing.T) {
	good := netip.MustParsePrefix("10.0.0.1/32")
	assert.NoError(t, validate(1, good))
	assert.ErrorContains(t, validate(0, good), "index 0")
	assert.ErrorContains(t, validate(-1, good), "index -1")
	assert.ErrorContains(t, validate(1, netip.Prefix{}), "want a plain")
	assert.ErrorContains(t, validate(1, netip.PrefixFrom(netip.MustParseAddr("::ffff:10.0.0.1"), 128)), "want a plain")
}

// TestAddressMessageReadsBack: what Add sends is what a listing is read from.
func TestAddressMessageReadsBack(t *testing.T) {
	old, recent := tagFor(5, 17), tagFor(5, 18)
	tests := []struct {
		name  string
		give  string
		tag   tag
		valid uint32
		want  Address
	}{
		{name: "IPv4 for ever", give: "10.0.0.100/32", tag: recent, valid: forever, want: Address{Ours: true}},
		{name: "IPv4 for 4 s", give: "10.0.0.100/24", tag: recent, valid: 4, want: Address{Ours: true, Valid: 4 * time.Second}},
		{name: "IPv6", give: "fd00::100/128", tag: recent, valid: 4, want: Address{Ours: true, Valid: 4 * time.Second}},
		{name: "an old kernel", give: "fd00::100/128", tag: old, valid: forever, want: Address{Ours: true}},
		{name: "the metric alone, as such a kernel lists it", give: "10.0.0.100/32", tag: tag{metric: true}, valid: forever, want: Address{Ours: true}},
		{name: "no tag", give: "10.0.0.100/32", valid: forever, want: Address{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.Prefix = netip.MustParsePrefix(tt.give)
			m := addressMessage(7, tt.want.Prefix, tt.tag, tt.valid).Serialize()
			index, got, err := parseAddress(m)
			require.NoError(t, err)
			assert.Equal(t, 7, index)
			assert.Equal(t, tt.want, got)
			assert.Zero(t, len(m)%4)
		})
	}
}

func TestAddressMessageFlags(t *testing.T) {
	flags := func(p string) uint32 {
		m := addressMessage(7, netip.MustParsePrefix(p), tag{}, forever).Serialize()
		attrs, err := attributes(m[unix.SizeofIfAddrmsg:])
		require.NoError(t, err)
		assert.Zero(t, binary.NativeEndian.Uint32(attrs[unix.IFA_CACHEINFO]), "preferred lifetime")
		assert.EqualValues(t, unix.RT_SCOPE_UNIVERSE, m[3], "scope")
		return binary.NativeEndian.Uint32(attrs[unix.IFA_FLAGS])
	}
	assert.EqualValues(t, unix.IFA_F_NOPREFIXROUTE, flags("10.0.0.100/32"))
	assert.EqualValues(t, unix.IFA_F_NOPREFIXROUTE|unix.IFA_F_NODAD, flags("fd00::100/128"))
}

// What ListAs says is the label and the scope of IPv4 addresses, and of no others; without it the message is as it was.
func TestListing(t *testing.T) {
	four, six := netip.MustParsePrefix("10.0.0.100/32"), netip.MustParsePrefix("fd00::100/128")
	var h Handle
	message := func(p netip.Prefix) []byte {
		return listedAs(addressMessage(7, p, tag{}, forever), h.listingOf(p.Addr()))
	}
	assert.Equal(t, []byte(addressMessage(7, four, tag{}, forever)), message(four), "nothing was said")
	h.ListAs(map[netip.Addr]Listing{four.Addr(): {Label: "eth0:vip", Scope: ScopeLink}, six.Addr(): {Label: "x", Scope: ScopeHost}})
	assert.Equal(t, []byte(addressMessage(7, six, tag{}, forever)), message(six), "IPv6 has neither")
	m := message(four)
	assert.EqualValues(t, unix.RT_SCOPE_LINK, m[3])
	attrs, err := attributes(m[unix.SizeofIfAddrmsg:])
	require.NoError(t, err)
	assert.Equal(t, "eth0:vip\x00", string(attrs[unix.IFA_LABEL]))
	h.ListAs(nil)
	assert.Equal(t, []byte(addressMessage(7, four, tag{}, forever)), message(four), "nothing is said any more")
}

func TestMarkForKernel(t *testing.T) {
	for version, want := range map[[2]int]tag{
		{0, 0}: {true, true}, {4, 18}: {true, true}, {5, 17}: {true, true}, {5, 18}: {protocol: true}, {6, 0}: {protocol: true},
	} {
		assert.Equal(t, want, tagFor(version[0], version[1]), version)
	}
	major, _ := kernelRelease()
	assert.GreaterOrEqual(t, major, 3)
}

func TestParseAddressRefusesBrokenMessages(t *testing.T) {
	good := []byte(addressMessage(7, netip.MustParsePrefix("10.0.0.100/32"), tag{}, forever))
	bits := append([]byte(nil), good...)
	bits[1] = 33
	long := append([]byte(nil), good...)
	long[unix.SizeofIfAddrmsg] = 0xff
	short := append([]byte(nil), good...)
	short[unix.SizeofIfAddrmsg] = 3
	for name, b := range map[string][]byte{"empty": nil, "cut in the header": good[:7], "no address": good[:8], "33 bits": bits, "attribute past the end": long, "attribute of 3 bytes": short} {
		_, _, err := parseAddress(b)
		assert.Error(t, err, name)
	}
}

func TestParseLink(t *testing.T) {
	m := message(make([]byte, unix.SizeofIfInfomsg))
	binary.NativeEndian.PutUint32(m[4:], 7)
	binary.NativeEndian.PutUint32(m[8:], unix.IFF_UP|unix.IFF_RUNNING)
	m = attribute(m, unix.IFLA_IFNAME, []byte("eth0\x00"))
	m = attribute(m, unix.IFLA_ADDRESS, []byte{2, 0, 0, 0, 0, 1})
	m = attribute(m, unix.IFLA_MASTER, []byte{3, 0, 0, 0})
	m = attribute(m, unix.IFLA_LINKINFO|unix.NLA_F_NESTED, attribute(nil, unix.IFLA_INFO_KIND, []byte("veth\x00")))
	got, err := parseLink(m)
	require.NoError(t, err)
	want := Link{Index: 7, Name: "eth0", MAC: []byte{2, 0, 0, 0, 0, 1}, Up: true, set: true, Kind: "veth", Master: int(binary.NativeEndian.Uint32([]byte{3, 0, 0, 0}))}
	assert.Equal(t, want, got)
	_, err = parseLink(m[:15])
	assert.Error(t, err)
	binary.NativeEndian.PutUint32(m[8:], unix.IFF_UP|unix.IFF_LOOPBACK)
	got, err = parseLink(m)
	require.NoError(t, err)
	assert.False(t, got.Up, "up, but without carrier")
	assert.True(t, got.Loopback)
}

func FuzzParseAddress(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte(addressMessage(7, netip.MustParsePrefix("10.0.0.100/32"), tag{true, true}, 4)))
	f.Add([]byte(addressMessage(7, netip.MustParsePrefix("fd00::100/64"), tag{true, true}, forever)))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, a, err := parseAddress(b)
		if err == nil && !a.Prefix.IsValid() {
			t.Fatalf("no error and no prefix: %+v", a)
		}
	})
}

func FuzzParseLink(f *testing.F) {
	f.Add(make([]byte, unix.SizeofIfInfomsg))
	f.Add([]byte(attribute(make([]byte, unix.SizeofIfInfomsg), unix.IFLA_LINKINFO, attribute(nil, unix.IFLA_INFO_KIND, []byte("veth\x00")))))
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = parseLink(b) })
}
