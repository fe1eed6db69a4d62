package vrrp

import (
	"crypto/subtle"
	"fmt"
	"net/netip"
	"slices"
	"time"
)

const (
	priorityGiveUp = 0   // RFC 9568, section 5.2.4
	priorityOwner  = 255 // RFC 9568, section 5.2.4

	defaultDownTimerAdverts = 3 // RFC 9568, section 6.1: 3 x Active_Adver_Interval
	maxDownTimerAdverts     = 100
	maxDelay                = 1000 * time.Second
)

// Config describes one Virtual Router (RFC 9568, section 6.1).
type Config struct {
	Version  uint8         // 2 or 3
	VRID     uint8         // 1 to 255
	Priority uint8         // 1 to 254; 255 for the address owner
	Interval time.Duration // Advertisement_Interval; ranges as in Advertisement

	// StartupInterval is the longest Advertisement_Interval that another member may have. Until an Active is heard, the
	// Active_Down_Interval is computed from it, so that a node which is restarted with a shorter interval does not take
	// over from an Active that advertises less often. 0, or less than Interval: Interval, as the RFC has it. Unused with
	// version 2, whose intervals must match.
	StartupInterval time.Duration

	// Preempt is Preempt_Mode: a Backup takes over from an Active of lower priority. PreemptDelay, 0 to 1000 s, counts
	// from the first advertisement of lower priority; one of equal or higher priority starts it anew.
	Preempt      bool
	PreemptDelay time.Duration

	// StartupDelay, 0 to 1000 s, postpones the start of the Active_Down_Timer after Startup. The address owner, who
	// becomes Active at once, has none.
	StartupDelay time.Duration

	// DownTimerAdverts is how many advertisements may be missed, 1 to 100; 0 means 3. All members should have the same.
	DownTimerAdverts int

	// Tick, if not 0, lets advertisements leave at multiples of it, which shortens the first interval by up to a Tick: of
	// many Virtual Routers those that advertise together cost this node, and all that hear them, one wakeup. At most half
	// the Interval.
	Tick time.Duration

	// Grouped makes a Backup whose Active_Down_Timer has expired wait for TakeOver: several Virtual Routers that have to
	// be Active on the same node agree in between.
	Grouped bool

	// Prompt makes an Active whose last advertisement is DownTimerAdverts intervals old take itself for frozen, without the Skew_Time of
	// RFC 9568: others may have taken over by then ([Equals]).
	Prompt bool

	Source netip.Addr // own primary address, IPv4 or IPv6: decides between equal priorities
	// Addresses are advertised, at most 255, of Source's family. Without any this is a Virtual Router of which something else moves what there
	// is to move: its advertisements have a count of 0, as keepalived's have then.
	Addresses []netip.Addr

	AuthType uint8   // version 2 only: AuthNone or AuthPass
	AuthData [8]byte // version 2 only: the password, padded with zeros
}

// Validate reports the first field that is out of range.
func (c Config) Validate() error {
	if err := c.advertisement(c.Priority).validate(); err != nil {
		return err
	}
	switch {
	case c.Priority == priorityGiveUp:
		return fmt.Errorf("vrrp: priority 0, want 1 to 255")
	case !c.Source.IsValid() || c.Source.Is4In6() || c.Source.IsUnspecified():
		return fmt.Errorf("vrrp: source %v, want an IPv4 or IPv6 address", c.Source)
	case c.Version == 2 && !c.Source.Is4():
		return fmt.Errorf("vrrp: version 2 over IPv6, want version 3")
	case c.PreemptDelay < 0 || c.PreemptDelay > maxDelay:
		return fmt.Errorf("vrrp: preempt delay %v, want 0s to %v", c.PreemptDelay, maxDelay)
	case c.StartupDelay < 0 || c.StartupDelay > maxDelay:
		return fmt.Errorf("vrrp: startup delay %v, want 0s to %v", c.StartupDelay, maxDelay)
	case c.DownTimerAdverts < 0 || c.DownTimerAdverts > maxDownTimerAdverts:
		return fmt.Errorf("vrrp: down timer adverts %d, want 1 to %d", c.DownTimerAdverts, maxDownTimerAdverts)
	case c.Tick < 0 || c.Tick > c.Interval/2:
		return fmt.Errorf("vrrp: tick %v, want 0s to %v, half the interval", c.Tick, c.Interval/2)
	case c.StartupInterval < 0 || c.StartupInterval > maxInterval:
		return fmt.Errorf("vrrp: startup interval %v, want 0s to %v", c.StartupInterval, maxInterval)
	}
	return validateAddresses(c.Addresses, c.Source)
}

// Match reports, as a *PacketError, why an advertisement that parsed is not for this Virtual Router: another version,
// VRID or family, and with version 2 another interval (RFC 3768, section 7.1) or other authentication data. A Machine
// ignores such an advertisement; the caller may want to count it. A differing address list is no reason (RFC 9568,
// section 7.1); see [Advertisement.Shares].
func (c Config) Match(source netip.Addr, a Advertisement) error {
	switch {
	case a.Version != c.Version:
		return &PacketError{Reason: RejectVersion, Got: int(a.Version), Want: int(c.Version)}
	case a.VRID != c.VRID:
		return &PacketError{Reason: RejectVRID, Got: int(a.VRID), Want: int(c.VRID)}
	case source.BitLen() != c.Source.BitLen():
		return &PacketError{Reason: RejectFamily, Got: familyOf(source), Want: familyOf(c.Source)}
	case len(a.Addresses) == 0 && len(c.Addresses) > 0:
		return &PacketError{Reason: RejectCount, Got: 0, Want: 1} // RFC 9568, section 5.2.5
	case a.Interval <= 0:
		return &PacketError{Reason: RejectInterval, Want: 1}
	case c.Version == 2:
		return c.match2(a)
	}
	return nil
}

func (c Config) match2(a Advertisement) error {
	switch {
	case a.AuthType != c.AuthType:
		return &PacketError{Reason: RejectAuth, Got: int(a.AuthType), Want: int(c.AuthType)}
	case c.AuthType == AuthPass && subtle.ConstantTimeCompare(a.AuthData[:], c.AuthData[:]) == 0:
		return &PacketError{Reason: RejectAuth}
	case a.Interval != c.Interval:
		return &PacketError{Reason: RejectInterval, Got: int(a.Interval / time.Second), Want: int(c.Interval / time.Second)}
	}
	return nil
}

// Shares reports whether a advertises at least one of addrs, or both have none. Routers of one cluster do, even while their lists are
// being changed one node at a time; another cluster that uses the same VRID by accident does not.
func (a Advertisement) Shares(addrs []netip.Addr) bool {
	if len(addrs) == 0 {
		return len(a.Addresses) == 0
	}
	return slices.ContainsFunc(a.Addresses, func(addr netip.Addr) bool { return slices.Contains(addrs, addr) })
}

// advertisement is what a router with this configuration says at the given priority.
func (c Config) advertisement(priority uint8) Advertisement {
	return Advertisement{
		Version: c.Version, VRID: c.VRID, Priority: priority, Interval: c.Interval,
		Addresses: c.Addresses, AuthType: c.AuthType, AuthData: c.AuthData,
	}
}

// normalized fills in defaults and takes what the caller may change later out of its hands.
func (c Config) normalized() Config {
	if c.DownTimerAdverts == 0 {
		c.DownTimerAdverts = defaultDownTimerAdverts
	}
	if c.Version == 2 {
		c.StartupInterval = 0
	}
	c.Source = c.Source.WithZone("")
	c.Addresses = slices.Clone(c.Addresses)
	return c
}
