package vrrp

import "time"

// sequence is a number that orders the signed advertisements of one sender: 32 bits of Unix seconds, 16 bits of their fraction, and a
// 16-bit counter for those of one instant.
type sequence uint64

func sequenceOf(t time.Time) sequence {
	fraction := uint64(t.Nanosecond()) << 16 / uint64(time.Second)
	return sequence(uint64(uint32(t.Unix()))<<32 | fraction<<16)
}

// time is the instant of the sequence number, to 15 us.
func (s sequence) time() time.Time {
	nanoseconds := int64(s>>16&0xffff) * int64(time.Second) >> 16
	return time.Unix(int64(s>>32), nanoseconds)
}
