package report

import (
	"bytes"
	"fmt"
)

// Since are the counters from where they were before. One that has become less has begun anew.
func (s Stats) Since(before Stats) Stats {
	for _, c := range []struct {
		now    *uint64
		before uint64
	}{
		{&s.Received, before.Received},
		{&s.Sent, before.Sent},
		{&s.BecameMaster, before.BecameMaster},
		{&s.ReleasedMaster, before.ReleasedMaster},
		{&s.Length, before.Length},
		{&s.TTL, before.TTL},
		{&s.InvalidType, before.InvalidType},
		{&s.AdvertInterval, before.AdvertInterval},
		{&s.AddressList, before.AddressList},
		{&s.AuthInvalid, before.AuthInvalid},
		{&s.AuthMismatch, before.AuthMismatch},
		{&s.AuthFailure, before.AuthFailure},
		{&s.ZeroReceived, before.ZeroReceived},
		{&s.ZeroSent, before.ZeroSent},
	} {
		if *c.now >= c.before {
			*c.now -= c.before
		}
	}
	return s
}

// Statistics is the statistics file.
func Statistics(n Node) []byte {
	var b bytes.Buffer
	for _, i := range n.Instances {
		s := i.Stats
		fmt.Fprintf(&b, `VRRP Instance: %s
  Advertisements:
    Received: %d
    Sent: %d
  Became master: %d
  Released master: %d
  Packet Errors:
    Length: %d
    TTL: %d
    Invalid Type: %d
    Advertisement Interval: %d
    Address List: %d
  Authentication Errors:
    Invalid Type: %d
    Type Mismatch: %d
    Failure: %d
  Priority Zero:
    Received: %d
    Sent: %d
`, i.Name, s.Received, s.Sent, s.BecameMaster, s.ReleasedMaster, s.Length, s.TTL, s.InvalidType, s.AdvertInterval, s.AddressList,
			s.AuthInvalid, s.AuthMismatch, s.AuthFailure, s.ZeroReceived, s.ZeroSent)
	}
	return b.Bytes()
}
