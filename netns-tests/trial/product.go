package trial

import (
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

// Settings are what a trial may ask of any product.
type Settings struct {
	Priority  int
	Interval  time.Duration // Advertisement_Interval
	Addresses []netip.Addr
	VRID      int
	API       bool // follow the local apiserver's health
}

// Product is a program that keeps a virtual address.
type Product interface {
	Name() string
	Start(n *lab.Node, s Settings) (*lab.Process, error)
}

// downInterval is the Active_Down_Interval of RFC 9568 section 6.1.
func (s Settings) downInterval() time.Duration {
	return 3*s.Interval + s.Interval*time.Duration(256-s.Priority)/256
}
