package vrrp

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"slices"

	"golang.org/x/net/bpf"
)

// layout says where a socket filter finds things. The kernel runs it over an IPv4 packet from the IP header on, and over
// an IPv6 packet from the payload on, with the IPv6 header at a negative offset.
type layout struct {
	network uint32 // offset of the IP header
	payload uint32 // offset of the payload, IPv6 only; an IPv4 header says itself how long it is
}

// kernelLayout is what a raw socket's filter sees; SKF_NET_OFF is -0x100000.
func kernelLayout(family int) layout {
	if family == 4 {
		return layout{}
	}
	return layout{network: math.MaxUint32 - 0x100000 + 1}
}

// filter describes the packets that reach the process. Whatever else arrives is dropped by the kernel, so that junk
// costs neither a wakeup nor room in the queue.
type filter struct {
	source netip.Addr   // own address: packets from it are our own, looped back
	peers  []netip.Addr // nil: any source
	vrids  []uint8      // nil: any
	minTTL uint8
	group  netip.Addr // zero: any destination
	direct bool       // beside the group: what is sent to an address of this node

	// odd lets in some of what is for this node and is refused for its source or hop limit, so that it can be named: a split by configuration would
	// show nothing else. They are so few that a flood of them takes no room from the peers.
	odd bool
}

// oddOneIn is how many of those packets there are for one that is let in. It is a power of two.
const oddOneIn = 16

// wanting is f with other VRIDs and peers, copied. The kernel takes programs of a bounded length: a longer list of peers
// is left to the process.
func (f filter) wanting(vrids []uint8, peers []netip.Addr) filter {
	f.vrids, f.peers = slices.Clone(vrids), nil
	if len(peers) > maxAddrs {
		return f
	}
	for _, peer := range peers {
		f.peers = append(f.peers, peer.WithZone(""))
	}
	return f
}

// dropAll is the filter of a socket that only sends.
func dropAll() ([]bpf.RawInstruction, error) {
	return bpf.Assemble([]bpf.Instruction{bpf.RetConstant{Val: 0}})
}

// assemble returns the program for the kernel.
func (f filter) assemble() ([]bpf.RawInstruction, error) {
	raw, err := bpf.Assemble(f.program(kernelLayout(familyOf(f.source))))
	if err != nil {
		return nil, fmt.Errorf("vrrp: assemble the socket filter: %w", err)
	}
	return raw, nil
}

// program passes a packet of which each check holds. A load beyond the packet's end drops it, so short packets need no
// check of their own.
func (f filter) program(at layout) []bpf.Instruction {
	p := program{at: at, v4: f.source.Is4()}
	if !f.odd {
		p.requireTTL(f.minTTL)
	}
	if p.v4 {
		p.requireWhole()
		p.add(bpf.LoadMemShift{Off: at.network}) // X: length of the IPv4 header
	} else {
		p.requireNoExtension()
	}
	p.requireForm()
	p.requireLength()
	p.refuseSource(f.source)
	if f.group.IsValid() {
		p.requireDestination(f.group, f.direct)
	}
	if f.vrids != nil {
		p.requireVRID(f.vrids)
	}
	if f.odd {
		p.add(bpf.LoadExtension{Num: bpf.ExtRand}, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: oddOneIn - 1})
		p.add(bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0, SkipTrue: 1}, bpf.RetConstant{Val: math.MaxUint32})
		p.requireTTL(f.minTTL)
	}
	if f.peers != nil {
		p.requireSource(f.peers)
	}
	p.add(bpf.RetConstant{Val: math.MaxUint32})
	return p.code
}

// program is a classic BPF program under construction. Each require method falls through when its check holds and ends
// the program when it does not.
type program struct {
	at   layout
	v4   bool
	code []bpf.Instruction
}

func (p *program) add(in ...bpf.Instruction) { p.code = append(p.code, in...) }

// orDrop continues if the accumulator fulfils the condition.
func (p *program) orDrop(cond bpf.JumpTest, val uint32) {
	p.add(bpf.JumpIf{Cond: cond, Val: val, SkipTrue: 1}, bpf.RetConstant{Val: 0})
}

// loadPayload loads one byte of the VRRP message.
func (p *program) loadPayload(off uint32) {
	if p.v4 {
		p.add(bpf.LoadIndirect{Off: p.at.network + off, Size: 1})
		return
	}
	p.add(bpf.LoadAbsolute{Off: p.at.payload + off, Size: 1})
}

func (p *program) requireTTL(least uint8) {
	off := uint32(7)
	if p.v4 {
		off = 8
	}
	p.add(bpf.LoadAbsolute{Off: p.at.network + off, Size: 1})
	p.orDrop(bpf.JumpGreaterOrEqual, uint32(least))
}

// requireWhole refuses IPv4 fragments: neither an offset nor More Fragments.
func (p *program) requireWhole() {
	p.add(bpf.LoadAbsolute{Off: p.at.network + 6, Size: 2}, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0x3fff})
	p.orDrop(bpf.JumpEqual, 0)
}

// requireNoExtension refuses IPv6 packets with extension headers, a fragment's among them.
func (p *program) requireNoExtension() {
	p.add(bpf.LoadAbsolute{Off: p.at.network + 6, Size: 1})
	p.orDrop(bpf.JumpEqual, protocolNumber)
}

// requireForm wants a known version and type.
func (p *program) requireForm() {
	p.loadPayload(0)
	if p.v4 {
		p.add(bpf.JumpIf{Cond: bpf.JumpEqual, Val: 2<<4 | typeAdvert, SkipTrue: 2})
	}
	p.orDrop(bpf.JumpEqual, 3<<4|typeAdvert)
}

// requireLength compares the length that the IP header gives with what the message says, with or without a trailer.
// A count of 0 passes: the socket is shared, and only a Virtual Router knows whether it has addresses ([Config.Match]).
func (p *program) requireLength() {
	p.loadPayload(3)
	p.add(bpf.ALUOpConstant{Op: bpf.ALUOpShiftLeft, Val: p.addressShift()}, bpf.ALUOpConstant{Op: bpf.ALUOpAdd, Val: headerLen})
	p.add(bpf.StoreScratch{Src: bpf.RegA, N: 0})
	if p.v4 {
		p.loadPayload(0)
		p.add(
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: 3<<4 | typeAdvert, SkipTrue: 3},
			bpf.LoadScratch{Dst: bpf.RegA, N: 0},
			bpf.ALUOpConstant{Op: bpf.ALUOpAdd, Val: authLen},
			bpf.StoreScratch{Src: bpf.RegA, N: 0},
			bpf.StoreScratch{Src: bpf.RegX, N: 1},
			bpf.LoadAbsolute{Off: p.at.network + 2, Size: 2}, // total length, with the header
			bpf.ALUOpX{Op: bpf.ALUOpSub},
		)
	} else {
		p.add(bpf.LoadAbsolute{Off: p.at.network + 4, Size: 2}) // payload length
	}
	p.add(bpf.LoadScratch{Dst: bpf.RegX, N: 0}, bpf.ALUOpX{Op: bpf.ALUOpSub}) // what is left behind the message
	p.add(bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 2})
	p.orDrop(bpf.JumpEqual, trailerLen)
	if p.v4 {
		p.add(bpf.LoadScratch{Dst: bpf.RegX, N: 1})
	}
}

// addressShift is the binary logarithm of an address's size.
func (p *program) addressShift() uint32 {
	if p.v4 {
		return 2
	}
	return 4
}

// words splits an address into what the filter compares, with the offsets in the IP header.
func (p *program) words(a netip.Addr) (words, offsets []uint32) {
	b, off := a.AsSlice(), uint32(8)
	if p.v4 {
		off = 12
	}
	for i := 0; i < len(b); i += 4 {
		words = append(words, binary.BigEndian.Uint32(b[i:]))
		offsets = append(offsets, p.at.network+off+uint32(i))
	}
	return words, offsets
}

// matchSource ends with a jump of skip instructions if the source is a, and falls through if it is not.
func (p *program) matchSource(a netip.Addr, skip uint32) {
	words, offsets := p.words(a)
	for i, word := range words {
		left := len(words) - 1 - i
		p.add(bpf.LoadAbsolute{Off: offsets[i], Size: 4})
		// From here to behind the final Jump: two instructions for each word left, and the Jump.
		p.add(bpf.JumpIf{Cond: bpf.JumpEqual, Val: word, SkipFalse: uint8(2*left + 1)})
	}
	p.add(bpf.Jump{Skip: skip})
}

func (p *program) refuseSource(a netip.Addr) {
	p.matchSource(a, 1)
	p.add(bpf.Jump{Skip: 1}, bpf.RetConstant{Val: 0})
}

// requireDestination is for what the kernel does not do: it gives a raw IPv6 socket what the host hears of any group. With direct a
// destination that is no IPv6 group passes.
func (p *program) requireDestination(a netip.Addr, direct bool) {
	words, offsets := p.words(a)
	if direct {
		const multicast, perWord = 0xff, 3
		p.add(bpf.LoadAbsolute{Off: offsets[0] + uint32(a.BitLen()/8), Size: 1})
		p.add(bpf.JumpIf{Cond: bpf.JumpEqual, Val: multicast, SkipFalse: uint8(perWord * len(words))})
	}
	for i, word := range words {
		p.add(bpf.LoadAbsolute{Off: offsets[i] + uint32(a.BitLen()/8), Size: 4}) // behind the source
		p.orDrop(bpf.JumpEqual, word)
	}
}

func (p *program) requireSource(peers []netip.Addr) {
	// Each match is of one length, so the way from its Jump to behind the final RetConstant is known.
	length := uint32(3)
	if !p.v4 {
		length = 9
	}
	for i, peer := range peers {
		p.matchSource(peer, length*uint32(len(peers)-1-i)+1)
	}
	p.add(bpf.RetConstant{Val: 0})
}

// requireVRID looks the VRID up in a bitmap of eight words, so that 255 cost no more than one.
func (p *program) requireVRID(vrids []uint8) {
	var bitmap [8]uint32
	for _, id := range vrids {
		bitmap[id/32] |= 1 << (id % 32)
	}
	p.loadPayload(1)
	p.add(
		bpf.StoreScratch{Src: bpf.RegA, N: 0},
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 31},
		bpf.TAX{}, // X: the bit; the header's length is not needed any more
		bpf.LoadScratch{Dst: bpf.RegA, N: 0},
		bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 5},
	)
	last := len(bitmap) - 1
	for i, word := range bitmap[:last] {
		p.add(
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(i), SkipFalse: 2},
			bpf.LoadConstant{Dst: bpf.RegA, Val: word},
			bpf.Jump{Skip: uint32(3*(last-1-i)) + 1},
		)
	}
	p.add(
		bpf.LoadConstant{Dst: bpf.RegA, Val: bitmap[last]},
		bpf.ALUOpX{Op: bpf.ALUOpShiftRight},
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 1},
	)
	p.orDrop(bpf.JumpEqual, 1)
}
