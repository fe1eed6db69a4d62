package keepalived

import (
	"net/netip"
	"path"
	"strings"
	"time"

	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
)

// Config is the VRRP side of a keepalived.conf, with the values that keepalived would go by.
type Config struct {
	Global    Global
	Scripts   []*Script
	Files     []*trackFile
	Processes []*TrackProcess
	Instances []*Instance
	Groups    []*SyncGroup
	Addresses []Address // static_ipaddress
	Routes    []line    // static_routes, not looked into
	Rules     []line    // static_rules, not looked into
	Sources   []string  // the files, in the order in which they are read first
	Findings  []Finding // in the order of their places
}

// line is one line that is kept as it is written.
type line struct {
	At    syntax.Origin
	Words []string
}

// Block is what every block of the model has.
type Block struct {
	Name string
	At   syntax.Origin            // of its first line
	Set  map[string]syntax.Origin // keyword to the line that gave it, the last one
}

// Has says whether a keyword is given in this block.
func (b *Block) Has(keyword string) bool { _, ok := b.Set[keyword]; return ok }

// Where is the line of a keyword, or that of the block where it is not given.
func (b *Block) Where(keyword string) syntax.Origin {
	if at, ok := b.Set[keyword]; ok {
		return at
	}
	return b.At
}

// garp is when gratuitous ARP and unsolicited neighbour advertisements are sent.
type garp struct {
	Delay           time.Duration // from becoming master to the second burst; 0: none. Default 5 s
	Repeat          int           // packets of a burst for each address, at least 1. Default 5
	Refresh         time.Duration // from burst to burst while master; 0: none. Default 0
	RefreshRepeat   int           // packets of each of those. Default 1
	LowerPrioDelay  time.Duration // after an advertisement of lower priority. Default: the global Delay
	LowerPrioRepeat int           // Default: the global Repeat
}

// Global is global_defs, all blocks of it together.
type Global struct {
	Block
	RouterID             string
	ScriptUser           User // empty: keepalived_script where that user exists, else root
	ScriptSecurity       bool
	Version              int // 2 or 3; default 2
	Garp                 garp
	GarpInterval         time.Duration // least time between two gratuitous ARPs on an interface; 0: none
	GNAInterval          time.Duration // and between two neighbour advertisements
	Group4, Group6       netip.Addr    // default 224.0.0.18 and ff02::12
	DownTimerAdverts     int           // default 3
	LowerPrioNoAdvert    bool
	HigherPrioSendAdvert bool
	SkipCheckAdvAddr     bool
	CheckUnicastSrc      bool
	Strict               bool
	MaxAutoPriority      int // -1 to 99; 0: never
	StartupDelay         time.Duration
	DynamicInterfaces    bool
	VMACPrefix           string // vmac_prefix; "": vrrp
	DefaultInterface     string // of static addresses; default eth0
	NotifyFIFO, VRRPFIFO FIFO
	PriorityChanges      bool // vrrp_notify_priority_changes
	LogUnknownVRIDs      bool
	RTPriority           int // vrrp_rt_priority, 1 to 99; 0: none
	NoSwap               bool
	Mail                 mail
}

// mail is what keepalived mails, and to whom. keepvip sends none.
type mail struct {
	To           []string
	From, Server string
	Alert        bool // for VRRP: smtp_alert_vrrp, or else smtp_alert
}

// User is whom a script runs as. Without a group it is the user's own.
type User struct{ Name, Group string }

// Runner is whom a script runs as: its own user, or script_user. The zero User is keepalived's default: keepalived_script where that user
// exists; else root, or nobody at all with enable_script_security. The word is the one that says so, empty for the default.
func (c *Config) Runner(own User) (u User, word string) {
	switch {
	case own.Name != "":
		return own, "user"
	case c.Global.ScriptUser.Name != "":
		return c.Global.ScriptUser, "script_user"
	}
	return User{}, ""
}

// Spelled is a user with a group behind a colon, where it is not the user's own.
func (u User) Spelled() string {
	if u.Group == "" || u.Group == u.Name {
		return u.Name
	}
	return u.Name + ":" + u.Group
}

// Root says whether a script runs with the rights of root's user or group, for which keepalived looks at its path.
func (u User) Root() bool { return isRoot(u.Name) || isRoot(u.Group) }

func isRoot(name string) bool { return name == "root" || name != "" && strings.Trim(name, "0") == "" }

// FIFO is a pipe that states are written to.
type FIFO struct {
	Path   string
	Owner  User
	Script *Command
}

// Command is a script with its arguments, as keepalived calls it.
type Command struct {
	At    syntax.Origin
	Args  []string // the program first; never empty
	Shell bool     // it begins with <, so keepalived gives the text to a shell
	Text  string   // as it is written, without the outer quotes
	User  User
}

// CallsAnother says whether keepalived calls another program than the one that is named, on Debian and Ubuntu: it follows links, and pidof
// leads to killall5 there, which takes no name.
func (c *Command) CallsAnother() bool { return !c.Shell && path.Base(c.Args[0]) == "pidof" }

// Script is a vrrp_script.
type Script struct {
	Block
	Command  Command
	Interval time.Duration // 1 s to 4294 s; default 1 s
	Timeout  time.Duration // 0: the interval
	Weight   weight        // default 0
	Rise     int           // at least 1, the default
	Fall     int           // at least 1, the default
	InitFail bool
}

// weight is what a tracked thing does to the priority. 0 is a condition: the instance is in state FAULT while the thing is down. What is positive
// is added while it is up, what is negative is subtracted while it is down. The sum is kept between 1 and 254.
type weight struct {
	Value   int // -253 to 253; a file's -254 to 254
	Reverse bool
}

// trackFile is a track_file: the number in the file times the weight.
type trackFile struct {
	Block
	Path      string
	Weight    weight // default 1
	Init      *int   // init_file: written at start where the file is missing
	Overwrite bool   // or in any case
}

// TrackProcess is a vrrp_track_process.
type TrackProcess struct {
	Block
	Command        []string
	ParamMatch     string // "": parameters do not count; "exact", also by default where there are some, "initial" or "partial"
	Weight         weight // default 0
	Quorum         int    // default 1; 0 with QuorumMax 0
	QuorumMax      *int
	ForkDelay      time.Duration
	TerminateDelay time.Duration
	FullCommand    bool // the program is compared with the first argument, and not with the kernel's name of the process
}

// Tracked is one line of a track_* block.
type Tracked struct {
	At     syntax.Origin
	Name   string
	Weight weight // the line's own, or that of the thing
	Own    bool   // the weight is the line's own
}

// Tracking is what an instance or a group tracks.
type Tracking struct{ Interfaces, Scripts, Files, Processes []Tracked }

// Notify is what is called when the state changes. All may be nil.
type Notify struct {
	Master, Backup, Fault, Stop, Deleted, LowerPriority *Command
	Any                                                 *Command // with GROUP or INSTANCE, name, state and priority behind its own arguments
	SayDeleted                                          bool     // notify_deleted: DELETED instead of FAULT
}

// AuthType is a way of VRRP version 2 to authenticate.
type AuthType string

// The ways there are.
const (
	AuthNone AuthType = ""
	AuthPass AuthType = "PASS"
	AuthAH   AuthType = "AH"
)

// auth is the authentication of an instance.
type auth struct {
	Type AuthType
	Pass []byte // 1 to 8 bytes
}

// Peer is one line of unicast_peer.
type Peer struct {
	At             syntax.Origin
	Address        netip.Addr
	MinTTL, MaxTTL int // 0 and 255: any
}

// Address is one line of virtual_ipaddress, virtual_ipaddress_excluded or static_ipaddress.
type Address struct {
	At            syntax.Origin
	Prefix        netip.Prefix // the address itself, with its length; default /32 or /128
	Interface     string       // default: the instance's, or the default_interface
	Scope         string       // global, site, link, host, nowhere or a number; IPv6: global
	Label         string
	Broadcast     netip.Addr // zero: none
	Peer          netip.Prefix
	PreferredLft  string // "": for ever; "0": deprecated, which is the default for IPv6 with /128; else seconds or forever
	Home, NoDAD   bool
	ManageTemp    bool // mngtmpaddr
	NoPrefixRoute bool
	AutoJoin      bool
	NoTrack       bool
	VMAC          bool
	TrackGroup    string
}

// Instance is a vrrp_instance.
type Instance struct {
	Block
	StartAsMaster   bool // state MASTER, which matters for the priority and for what it excludes, and not for the election
	Interface       string
	VRID            int // 1 to 255
	Priority        int // 1 to 255; default 100, or 255 with state MASTER
	AdvertInterval  time.Duration
	Version         int // 2 or 3
	IPv6            bool
	Auth            auth
	Addresses       []Address
	Excluded        []Address
	Unicast         []Peer     // empty: multicast
	Source          netip.Addr // unicast_src_ip or mcast_src_ip; zero: the interface's own
	Group           netip.Addr // the multicast group
	UnicastTTL      int
	TrackSource     bool
	CheckSource     bool // check_unicast_src
	FaultNoPeer     bool
	Preempt         bool
	PreemptDelay    time.Duration
	Garp            garp
	DownTimer       int // down_timer_adverts
	LowerNoAdvert   bool
	HigherSend      bool
	SkipCheckAdv    bool
	Strict          bool
	Accept          bool
	DontTrack       bool   // dont_track_primary
	VMAC            bool   // use_vmac
	VMACName        string // of the interface; without one by the prefix of the global definitions and the VRID
	VMACAddress     string // a MAC in place of the virtual one; "": none
	TransmitBase    bool   // vmac_xmit_base
	PromoteSecond   bool
	Track           Tracking
	Notify          Notify
	MailAlert       bool
	PriorityChanges bool
	Routes, Rules   []line // virtual_routes and virtual_rules
	SyncGroup       string // the group that it is in, if any
}

// Multicast says whether advertisements go to a group and not to peers.
func (i *Instance) Multicast() bool { return len(i.Unicast) == 0 }

// SyncGroup is a vrrp_sync_group with at least one member.
type SyncGroup struct {
	Block
	Members         []string
	Track           Tracking
	Notify          Notify
	MailAlert       bool
	PriorityChanges bool
	Weights         bool // sync_group_tracking_weight
}
