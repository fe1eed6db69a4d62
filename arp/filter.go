package arp

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/net/bpf"
)

// mostFiltered is how many addresses a socket filter compares with; with more it lets every claim through, and the parser sorts them out.
const mostFiltered = 200

// Where the filters look, counted from the start of the Ethernet frame. Of an IPv6 address they compare the last 32 bits.
const (
	offARPSender  = ethernetLen + 14
	offARPTarget  = ethernetLen + 24
	offNextHeader = ethernetLen + 6
	offHopLimit   = ethernetLen + 7
	offSource     = ethernetLen + 8 + 12
	offICMPType   = ethernetLen + ipv6Len
	offTarget     = ethernetLen + ipv6Len + 8 + 12
)

// arpFilter passes ARP packets of which one address is watched. Frames of a VLAN belong to another interface.
func arpFilter(addrs []netip.Addr) []bpf.Instruction {
	return append(untagged(), either(addrs, offARPSender, offARPTarget)...)
}

// ndFilter passes neighbour solicitations and advertisements that may concern a watched address.
func ndFilter(addrs []netip.Addr) []bpf.Instruction {
	const solicitation, advertisement = 135, 136
	f := append(untagged(),
		bpf.LoadAbsolute{Off: offNextHeader, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: icmpv6, SkipTrue: 1},
		bpf.RetConstant{Val: 0},
		bpf.LoadAbsolute{Off: offHopLimit, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: hopLimit, SkipTrue: 1},
		bpf.RetConstant{Val: 0},
		bpf.LoadAbsolute{Off: offICMPType, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: solicitation, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: advertisement, SkipTrue: 1},
		bpf.RetConstant{Val: 0},
	)
	return append(f, either(addrs, offSource, offTarget)...)
}

func untagged() []bpf.Instruction {
	return []bpf.Instruction{
		bpf.LoadExtension{Num: bpf.ExtVLANTagPresent},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 1},
		bpf.RetConstant{Val: 0},
	}
}

// either passes a frame that has the low 32 bits of one of the addresses at one of the offsets.
func either(addrs []netip.Addr, offsets ...uint32) []bpf.Instruction {
	const whole = 0xffff
	if len(addrs) > mostFiltered {
		return []bpf.Instruction{bpf.RetConstant{Val: whole}}
	}
	var f []bpf.Instruction
	for _, off := range offsets {
		f = append(f, bpf.LoadAbsolute{Off: off, Size: 4})
		for _, a := range addrs {
			b := a.As16()
			f = append(f,
				bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: binary.BigEndian.Uint32(b[12:]), SkipTrue: 1},
				bpf.RetConstant{Val: whole})
		}
	}
	return append(f, bpf.RetConstant{Val: 0})
}
