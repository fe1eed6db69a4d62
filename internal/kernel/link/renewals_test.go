package link

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

// event is a message of rtnetlink with that payload.
func event(kind uint16, payload []byte) []byte {
	m := binary.NativeEndian.AppendUint32(nil, uint32(unix.SizeofNlMsghdr+len(payload)))
	m = binary.NativeEndian.AppendUint16(m, kind)
	return append(append(m, make([]byte, unix.SizeofNlMsghdr-len(m))...), payload...)
}

func TestRenewalIsNoNews(t *testing.T) {
	of := func(index int, prefix string, valid uint32) []byte {
		return event(unix.RTM_NEWADDR, addressMessage(index, netip.MustParsePrefix(prefix), tagFor(5, 17), valid))
	}
	gone := event(unix.RTM_DELADDR, bareMessage(2, netip.MustParsePrefix("10.0.0.100/32")))
	cut := of(2, "10.0.0.100/32", 4)
	steps := []struct {
		name string
		m    []byte
		news bool
	}{
		{"the first", of(2, "10.0.0.100/32", 4), true},
		{"renewed", of(2, "10.0.0.100/32", 4), false},
		{"renewed for longer", of(2, "10.0.0.100/32", 9), false},
		{"for ever", of(2, "10.0.0.100/32", forever), true},
		{"with a lifetime again", of(2, "10.0.0.100/32", 4), true},
		{"on another link", of(3, "10.0.0.100/32", 4), true},
		{"of the other family", of(2, "fd00::100/128", 4), true},
		{"the other family's renewed", of(2, "fd00::100/128", 4), false},
		{"deleted", gone, true},
		{"back", of(2, "10.0.0.100/32", 4), true},
		{"renewed once more", of(2, "10.0.0.100/32", 4), false},
		{"not its own any more", event(unix.RTM_NEWADDR, bareMessage(2, netip.MustParsePrefix("10.0.0.100/32"))), true},
		{"a link", event(unix.RTM_NEWLINK, make([]byte, unix.SizeofIfInfomsg)), true},
		{"a part of a message", cut[:len(cut)-4], true},
		{"no header", cut[:8], true},
		{"no address", event(unix.RTM_NEWADDR, make([]byte, unix.SizeofIfAddrmsg)), true},
		{"nothing", nil, true},
	}
	known := told{}
	for _, step := range steps {
		assert.Equal(t, step.news, known.news(step.m), step.name)
	}
}

func TestToldIsBounded(t *testing.T) {
	known := told{}
	for i := range 3 * mostTold {
		a := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
		assert.True(t, known.news(event(unix.RTM_NEWADDR, addressMessage(2, netip.PrefixFrom(a, 32), tagFor(5, 17), 4))))
		assert.LessOrEqual(t, len(known), mostTold)
	}
	assert.NotEqual(t, time.Duration(0), known[toldOf{2, netip.MustParsePrefix("10.0.47.255/32"), netip.Addr{}}].Valid)
}
