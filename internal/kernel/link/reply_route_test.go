package link

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// ruleMessage is a rule for packets from 10.0.0.1 that looks up the table 300, with further attributes.
func ruleMessage(flags uint32, further ...uint16) []byte {
	m := message{unix.AF_INET, 0, 32, 0, 0, 0, 0, unix.FR_ACT_TO_TBL}
	m = binary.NativeEndian.AppendUint32(m, flags)
	m = attribute(m, unix.FRA_SRC, netip.MustParseAddr("10.0.0.1").AsSlice())
	m = attribute(m, unix.FRA_TABLE, binary.NativeEndian.AppendUint32(nil, 300))
	m = attribute(m, unix.FRA_PRIORITY, binary.NativeEndian.AppendUint32(nil, 7))
	for _, kind := range further {
		m = attribute(m, kind, []byte{1, 0, 0, 0})
	}
	return m
}

func TestRuleIsPlainWhereAddressesAloneDecide(t *testing.T) {
	want := Rule{Priority: 7, From: netip.MustParsePrefix("10.0.0.1/32"), Table: 300, Plain: true}
	r, err := parseRule(ruleMessage(0))
	require.NoError(t, err)
	assert.Equal(t, want, r)
	want.Plain = false
	for _, b := range [][]byte{
		ruleMessage(unix.FIB_RULE_INVERT), ruleMessage(0, unix.FRA_IIFNAME), ruleMessage(0, unix.FRA_FWMARK), ruleMessage(0, unix.FRA_L3MDEV),
		ruleMessage(0, unix.FRA_DPORT_RANGE),
	} {
		r, err := parseRule(b)
		require.NoError(t, err)
		assert.Equal(t, want, r)
	}
	_, err = parseRule(make([]byte, sizeofRuleHdr-1))
	assert.Error(t, err)
}

func FuzzParseRule(f *testing.F) {
	f.Add(ruleMessage(0))
	f.Add(ruleMessage(0, unix.FRA_DST, unix.FRA_L3MDEV))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parseRule(b)
		if err == nil && r.From != (netip.Prefix{}) && !r.From.IsValid() {
			t.Fatalf("no error and no prefix: %+v", r)
		}
	})
}

func FuzzParseRoute(f *testing.F) {
	f.Add([]byte(routeMessage(0, via(2, 1, "10.0.0.1"))))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := parseRoute(b); err != nil && r != (Route{}) {
			t.Fatal("both a route and an error")
		}
	})
}
