package arp

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"golang.org/x/net/bpf"
)

const (
	// mostFiltered is how many addresses a socket filter compares with; with more it lets every claim through, and the parser sorts them out.
	// A program for so many is within what older kernels grant an option of a socket (net.core.optmem_max, 20 KiB).
	mostFiltered = 600
	// leafSize is how many of them are compared one after the other, at the end of a binary search.
	leafSize = 16
)

// Where the filters look, counted from the start of the Ethernet frame. Of an IPv6 address they compare the last 32 bits.
const (
	offARPSender  = ethernetLen + 14
	offNextHeader = ethernetLen + 6
	offHopLimit   = ethernetLen + 7
	offSource     = ethernetLen + 8 + 12
	offICMPType   = ethernetLen + ipv6Len
	offTarget     = ethernetLen + ipv6Len + 8 + 12
)

// arpFilter passes ARP packets of which the sender is watched. Frames of a VLAN belong to another interface. Who asks for an address, as
// every client of it does, does not get as far as the process.
func arpFilter(addrs []netip.Addr) []bpf.Instruction {
	return append(append(untagged(), bpf.LoadAbsolute{Off: offARPSender, Size: 4}), among(addrs)...)
}

// ndFilter passes neighbour solicitations from what may be a watched address, and advertisements for it.
func ndFilter(addrs []netip.Addr) []bpf.Instruction {
	const solicitation, advertisement = 135, 136
	f := append(
		untagged(),
		bpf.LoadAbsolute{Off: offNextHeader, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: icmpv6, SkipTrue: 1},
		bpf.RetConstant{Val: 0},
		bpf.LoadAbsolute{Off: offHopLimit, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: hopLimit, SkipTrue: 1},
		bpf.RetConstant{Val: 0},
		bpf.LoadAbsolute{Off: offICMPType, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: solicitation, SkipTrue: 2},
		bpf.LoadAbsolute{Off: offSource, Size: 4},
		bpf.Jump{Skip: 3},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: advertisement, SkipTrue: 1},
		bpf.RetConstant{Val: 0},
		bpf.LoadAbsolute{Off: offTarget, Size: 4},
	)
	return append(f, among(addrs)...)
}

func untagged() []bpf.Instruction {
	return []bpf.Instruction{
		bpf.LoadExtension{Num: bpf.ExtVLANTagPresent},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 1},
		bpf.RetConstant{Val: 0},
	}
}

// whole passes a frame.
const whole = 0xffff

// among passes the frame if the accumulator holds the low 32 bits of one of the addresses.
func among(addrs []netip.Addr) []bpf.Instruction {
	words := make([]uint32, len(addrs))
	for i, a := range addrs {
		b := a.As16()
		words[i] = binary.BigEndian.Uint32(b[12:])
	}
	slices.Sort(words)
	words = slices.Compact(words)
	if len(words) > mostFiltered {
		return []bpf.Instruction{bpf.RetConstant{Val: whole}}
	}
	return search(words)
}

// search is a binary search; words are sorted.
func search(words []uint32) []bpf.Instruction {
	var f []bpf.Instruction
	if len(words) <= leafSize {
		for i, w := range words {
			f = append(f, bpf.JumpIf{Cond: bpf.JumpEqual, Val: w, SkipTrue: uint8(len(words) - i)})
		}
		return append(f, bpf.RetConstant{Val: 0}, bpf.RetConstant{Val: whole})
	}
	middle := len(words) / 2
	lower := search(words[:middle])
	// A conditional jump does not reach far.
	f = append(f, bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: words[middle], SkipFalse: 1}, bpf.Jump{Skip: uint32(len(lower))})
	return append(append(f, lower...), search(words[middle:])...)
}
