package fence

import (
	"net/netip"
	"testing"

	"github.com/google/nftables/expr"
	"github.com/stretchr/testify/assert"
)

// TestForwardingLeavesExceptedPortsAlone: what begins no connection and has no socket on the address itself may be translated here.
func TestForwardingLeavesExceptedPortsAlone(t *testing.T) {
	f := &Forwarding{Index: 2, To: netip.MustParseAddr("10.0.0.5")}
	all := f.rule()
	f.Except = []uint16{6443, 9345}
	port := field{expr.PayloadBaseTransportHeader, 2, 2}
	want := append(port.is(expr.CmpOpNeq, 0x19, 0x2b), &expr.Cmp{Op: expr.CmpOpNeq, Register: register, Data: []byte{0x24, 0x81}})
	rule := f.rule()
	for i := range all {
		if assert.ObjectsAreEqual(want, rule[i:i+len(want)]) {
			assert.Equal(t, all, append(rule[:i:i], rule[i+len(want):]...))
			return
		}
	}
	assert.Fail(t, "the ports are not excepted")
}
