package report

import (
	"net/netip"
	"time"
)

// State is keepalived's number for the state of an instance.
type State int

// The states.
const (
	Init State = iota
	Backup
	Master
	Fault
)

// String is keepalived's word.
func (s State) String() string {
	return [...]string{"INIT", "BACKUP", "MASTER", "FAULT"}[s]
}

// Node is what the three files are made of.
type Node struct {
	Instances []Instance
}

// Instance is one vrrp_instance.
type Instance struct {
	Name      string
	Group     string // its sync group; "" for none
	Version   uint8  // 2 or 3
	State     State
	Since     time.Time // when State was entered
	Interface string
	VMAC      string     // the interface of the virtual MAC, on Interface; "": none
	Source    netip.Addr // not valid while it has none
	VRID      uint8
	Priority  uint8 // as configured
	Effective uint8 // as advertised now
	Interval  time.Duration

	Master         netip.Addr // while another router is heard as the Active; its family needs not be that of the addresses
	MasterPriority uint8      // 0: not known

	Preempt          bool
	PreemptDelay     time.Duration
	DownTimerAdverts int
	Refresh          time.Duration // of the announcements
	Password         bool          // one travels in the advertisements of version 2
	Peers            []netip.Addr  // unicast: the others; empty with Unicast false
	Unicast          bool
	MinTTL           uint8      // of the peers
	Multicast        netip.Addr // the group; not valid: the usual one

	TransmitBase bool // with VMAC advertisements have the MAC of Interface

	Addresses []netip.Prefix // the first decides about the family
	Excluded  []netip.Prefix // move with them, and are not advertised
	Listed    map[netip.Addr]Listed
	Bound     bool // all of them are on this node
	Scripts   []Script
	Stats     Stats
}

// device is the interface that has the addresses, as keepalived prints it.
func (i Instance) device() string {
	if i.VMAC == "" {
		return i.Interface
	}
	return i.VMAC + "@" + i.Interface
}

// Listed is how an address is listed, where that is not as usual.
type Listed struct {
	Interface string // "": the instance's
	Scope     string // "": global
	Label     string
}

// Script is a health check.
type Script struct {
	Name       string
	Weight     int
	Reverse    bool
	Interval   time.Duration
	Rise, Fall int
	Good       bool
	Unknown    bool // it has no result yet
}

// Stats count for one instance. They have keepalived's names, in its order.
type Stats struct {
	Received       uint64 `json:"advert_rcvd"` // advertisements
	Sent           uint64 `json:"advert_sent"`
	BecameMaster   uint64 `json:"become_master"`
	ReleasedMaster uint64 `json:"release_master"`
	Length         uint64 `json:"packet_len_err"` // packets with an error
	AdvertInterval uint64 `json:"advert_interval_err"`
	TTL            uint64 `json:"ip_ttl_err"`
	InvalidType    uint64 `json:"invalid_type_rcvd"`
	AddressList    uint64 `json:"addr_list_err"`
	AuthInvalid    uint64 `json:"invalid_authtype"`
	AuthMismatch   uint64 `json:"authtype_mismatch"`
	AuthFailure    uint64 `json:"auth_failure"`
	ZeroReceived   uint64 `json:"pri_zero_rcvd"` // advertisements of priority 0
	ZeroSent       uint64 `json:"pri_zero_sent"`
}

// ipv6 tells whether the election runs by IPv6.
func (i Instance) ipv6() bool { return len(i.Addresses) > 0 && i.Addresses[0].Addr().Is6() }
