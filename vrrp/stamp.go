package vrrp

import "time"

// stamp orders the signed advertisements of one sender: 32 bits of Unix seconds, 16 bits of their fraction, and a
// 16-bit counter for those of one instant.
type stamp uint64

func stampOf(t time.Time) stamp {
	fraction := uint64(t.Nanosecond()) << 16 / uint64(time.Second)
	return stamp(uint64(uint32(t.Unix()))<<32 | fraction<<16)
}

// time is the stamp's instant, to 15 us.
func (s stamp) time() time.Time {
	nanoseconds := int64(s>>16&0xffff) * int64(time.Second) >> 16
	return time.Unix(int64(s>>32), nanoseconds)
}
