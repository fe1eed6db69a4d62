package repository

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// The tags of an RPM header that a repository tells, by their numbers.
const (
	tagName          = 1000
	tagVersion       = 1001
	tagRelease       = 1002
	tagSummary       = 1004
	tagDescription   = 1005
	tagBuildTime     = 1006
	tagBuildHost     = 1007
	tagSize          = 1009
	tagVendor        = 1011
	tagLicense       = 1014
	tagPackager      = 1015
	tagGroup         = 1016
	tagURL           = 1020
	tagArch          = 1022
	tagFileModes     = 1030
	tagProvideName   = 1047
	tagRequireFlags  = 1048
	tagRequireName   = 1049
	tagRequireValue  = 1050
	tagProvideFlags  = 1112
	tagProvideValue  = 1113
	tagDirIndexes    = 1116
	tagBaseNames     = 1117
	tagDirNames      = 1118
	tagPayloadLength = 1007 // in the signature header
)

// rpmHeader is one header of an RPM package: entries of a tag, a type, a place and a count, and the data behind them.
type rpmHeader struct {
	entries    map[uint32]rpmEntry
	data       []byte
	begin, end int // in the package
}

type rpmEntry struct {
	kind, offset, count uint32
}

const (
	leadLength  = 96
	introLength = 16
	entryLength = 16
)

// readRPM reads the signature header and the header behind it.
func readRPM(rpm []byte) (signature, main rpmHeader, err error) {
	if !bytes.HasPrefix(rpm, []byte{0xed, 0xab, 0xee, 0xdb}) {
		return signature, main, errors.New("no RPM package")
	}
	if signature, err = readHeader(rpm, leadLength); err != nil {
		return signature, main, fmt.Errorf("signature header: %w", err)
	}
	if main, err = readHeader(rpm, (signature.end+7)/8*8); err != nil {
		return signature, main, fmt.Errorf("header: %w", err)
	}
	return signature, main, nil
}

func readHeader(rpm []byte, at int) (rpmHeader, error) {
	if len(rpm) < at+introLength || !bytes.HasPrefix(rpm[at:], []byte{0x8e, 0xad, 0xe8, 0x01}) {
		return rpmHeader{}, errors.New("it does not begin as one")
	}
	count, size := binary.BigEndian.Uint32(rpm[at+8:]), binary.BigEndian.Uint32(rpm[at+12:])
	data := uint64(at) + introLength + entryLength*uint64(count)
	if data+uint64(size) > uint64(len(rpm)) {
		return rpmHeader{}, errors.New("it is longer than the package")
	}
	h := rpmHeader{entries: map[uint32]rpmEntry{}, data: rpm[data : data+uint64(size)], begin: at, end: int(data) + int(size)}
	for i := range int(count) {
		e := rpm[at+introLength+entryLength*i:]
		h.entries[binary.BigEndian.Uint32(e)] = rpmEntry{binary.BigEndian.Uint32(e[4:]), binary.BigEndian.Uint32(e[8:]), binary.BigEndian.Uint32(e[12:])}
	}
	return h, nil
}

// strings are those of a tag; nil where it is missing.
func (h rpmHeader) strings(tag uint32) (out []string) {
	e, ok := h.entries[tag]
	if !ok || uint64(e.offset) > uint64(len(h.data)) {
		return nil
	}
	rest := h.data[e.offset:]
	for range e.count {
		text, after, found := bytes.Cut(rest, []byte{0})
		if !found {
			return nil
		}
		out, rest = append(out, string(text)), after
	}
	return out
}

// text is the first string of a tag; empty where it is missing.
func (h rpmHeader) text(tag uint32) string {
	if all := h.strings(tag); len(all) > 0 {
		return all[0]
	}
	return ""
}

// numbers are those of a tag, of 16 or 32 bits (RPM's types 3 and 4); nil where it is missing.
func (h rpmHeader) numbers(tag uint32) (out []uint32) {
	e, ok := h.entries[tag]
	width := uint64(2)
	if e.kind == 4 {
		width = 4
	}
	if !ok || (e.kind != 3 && e.kind != 4) || uint64(e.offset)+width*uint64(e.count) > uint64(len(h.data)) {
		return nil
	}
	for i := range uint64(e.count) {
		at := h.data[uint64(e.offset)+width*i:]
		if width == 2 {
			out = append(out, uint32(binary.BigEndian.Uint16(at)))
		} else {
			out = append(out, binary.BigEndian.Uint32(at))
		}
	}
	return out
}

// number is the first number of a tag; 0 where it is missing.
func (h rpmHeader) number(tag uint32) uint32 {
	if all := h.numbers(tag); len(all) > 0 {
		return all[0]
	}
	return 0
}
