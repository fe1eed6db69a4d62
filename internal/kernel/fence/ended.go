package fence

import (
	"encoding/binary"
	"time"

	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// A process that ends has its connections closed by the kernel, however it ends. Those that it has to the other members bear a mark, and a FIN or RST
// with that mark ends all leases on the link on its own way out: the addresses are silent before anybody can hear that the process is gone.
//
// A kernel goes on retransmitting the FIN of a dead process, while the next run of keepvip may hold the addresses already. So each run has a mark of
// its own, and the rule knows no other.

// chainEnded ends the lease of each group.
const chainEnded = "ended"

// Mark is what packets of this run's connections to other members bear (SO_MARK); 0: there are none.
type Mark uint32

const (
	// markMask are the bits of a packet's mark that keepvip looks at. They are in nobody's way: kube-proxy has 0xc000, Cilium 0x0f00 and the upper
	// half, Calico the upper half, AWS's network plugin 0x80.
	markMask Mark = 0x307f
	// markOurs is set in each mark.
	markOurs Mark = 0x3000
	// markTick is the least time between two runs that have different marks. The marks of 32 s differ, and a FIN is retransmitted for ten.
	markTick = 250 * time.Millisecond
)

// markFor is the mark of a run that begins when the machine has been up for so long.
func markFor(uptime time.Duration) Mark {
	return markOurs | Mark(uptime/markTick)&^markOurs&markMask
}

// NewMark is that of a run that begins now.
func NewMark() Mark {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) // never fails
	return markFor(time.Duration(t.Nano()))
}

// endedRule picks what ends the leases: most packets have no mark, so that is looked at first.
func (m Mark) endedRule() match {
	const fin, rst = 0x01, 0x04
	return and(match{
		&expr.Meta{Key: expr.MetaKeyMARK, Register: register},
		&expr.Bitwise{SourceRegister: register, DestRegister: register, Len: 4, Mask: markMask.bytes(), Xor: Mark(0).bytes()},
		&expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: m.bytes()},
	}, l4proto(unix.IPPROTO_TCP), tcpFlags.load(), match{
		&expr.Bitwise{SourceRegister: register, DestRegister: register, Len: 1, Mask: []byte{fin | rst}, Xor: []byte{0}},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: register, Data: []byte{0}},
	}, jump(chainEnded))
}

func (m Mark) bytes() []byte { return binary.NativeEndian.AppendUint32(nil, uint32(m)) }

// dynsetDelete is NFT_DYNSET_OP_DELETE, Linux 5.4.
const dynsetDelete = 2

// endLease takes the link out of the lease of a group.
func endLease(id uint32) match {
	return append(outgoing.load(), &expr.Dynset{SrcRegKey: register, SetName: leaseOf(id), Operation: dynsetDelete})
}

// ends tells whether leases end with the process.
func (t *linkTable) ends() bool { return t.egress && t.mark != 0 }

// Mark makes the fences that are opened from now on end their leases by packets of that mark. It comes before the first Join.
func (l *Links) Mark(m Mark) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mark = m
}

// End reports whether the leases on the link of that index end with this process: a FIN or RST with the mark, as it leaves there, takes them away.
func (l *Links) End(index int) bool {
	l.mu.Lock()
	o := l.links[index]
	l.mu.Unlock()
	if o == nil {
		return false
	}
	f := o.ending.Load()
	return f != nil && f.ends()
}

func (f *linkFence) ends() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.kernel.tables.link.ends()
}
