package report

import (
	"bytes"
	"fmt"
)

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
`, i.Name, s.Received, s.Sent, s.BecameMaster, s.ReleasedMaster, s.Length, s.TTL, s.InvalidType, s.AdvertInterval, s.AddressSet,
			s.AuthInvalid, s.AuthMismatch, s.AuthFailure, s.ZeroReceived, s.ZeroSent)
	}
	return b.Bytes()
}
