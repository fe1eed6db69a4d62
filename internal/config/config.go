package config

import (
	"net/netip"
	"slices"
	"time"
)

// Config is a complete, validated configuration.
type Config struct {
	VIPs     []VIP
	Key      Key
	Port     uint16 // UDP and TCP between members
	Raft     Raft
	Follow   follow
	Lifeline bool // members hear of the end of this process by the end of a connection
	Realtime bool // schedule the process before everything that is not real-time
	Socket   string
	StateDir string
	// KeepalivedFiles is the directory for what keepalived writes on a signal; "": nothing is written.
	KeepalivedFiles string
	ChecksAsRoot    checksAsRoot
	Metrics         Metrics
	Health          health
	FIFO            FIFO
	Log             Log

	Path      string   // the file, "KEEPVIP_CONFIG_YAML" for an inlined one, "" for none
	File      []byte   // its bytes
	Converted bool     // Path is that of a keepalived.conf, and File what carries its text makes of it
	Warnings  []string // one line each: what was ignored, and why

	origins map[string]Origin
}

// VIP is one Virtual Router (RFC 9568) and the addresses that move with it.
type VIP struct {
	Name string
	// KeepalivedName is what hooks, the FIFO and the files in KeepalivedFiles call it; "": Name. KeepalivedGroupName is the same for Group.
	KeepalivedName, KeepalivedGroupName string
	// Addresses has at least one entry, but with HooksOnly. The family of the first carries the election; the others are bound and released with it.
	Addresses []netip.Prefix
	HooksOnly bool        // hooks move the addresses, or nothing: keepvip elects, and binds nothing
	Interface string      // "": the one whose subnet contains the first address
	Elsewhere []Elsewhere // of the addresses, those on other interfaces
	Labels    []string    // of the IPv4 addresses, in their order; "", and none: the interface's name
	Scope     Scope       // of the IPv4 addresses
	Group     string      // moves with the others of this name; "": alone
	Election  Election
	Priority  uint8 // 1..254
	// Candidates are own addresses of the nodes that may hold the addresses; none: every node may.
	Candidates []netip.Addr
	VRRP       VRRP
	Announce   Announce
	Check      Check
	Checks     []ListedCheck // in place of Check when not empty
	Hooks      []Hook
	Spread     Spread

	Mode            Mode
	ExternalAddress string        // where clients connect in ModeExternal: an address or a name, perhaps with a port
	ExternalGrace   time.Duration // for how long the addresses are served after the mode has become external

	DHCP DHCP

	OnConflict      onConflict
	ProbeBeforeBind bool
}

// Bare are the addresses without the lengths of their prefixes.
func (v VIP) Bare() (out []netip.Addr) {
	for _, p := range v.Addresses {
		out = append(out, p.Addr())
	}
	return out
}

// Advertised lists the addresses of one family that an advertisement names, without those that are excluded: the first
// 255 for IPv4, the first 89 for IPv6.
func (v VIP) Advertised(ipv4 bool) []netip.Addr {
	most := advertisedIPv6
	if ipv4 {
		most = advertisedIPv4
	}
	var out []netip.Addr
	for _, a := range v.Bare() {
		if a.Is4() == ipv4 && len(out) < most && !slices.Contains(v.VRRP.Excluded, a) {
			out = append(out, a)
		}
	}
	return out
}

// Witness is a host on the link that is asked where there is no third member; the zero Witness is none.
type Witness struct {
	Host    netip.Addr // the zero Addr with Gateway
	Gateway bool       // the next hop of the default route on the link, whatever it is at the time
}

// VRRP is what only the VRRP elector needs.
type VRRP struct {
	ID                    uint8 // VRID, 1..255; [deriveVRID] of the first address when not set
	Version               uint8 // 2 or 3
	AdvertisementInterval time.Duration
	Preempt               bool // Preempt_Mode
	PreemptDelay          time.Duration
	Excluded              []netip.Addr // of the addresses, those that advertisements leave out
	Peers                 []netip.Addr // unicast when not empty; may contain this node's own address
	MinTTL                uint8        // of what Peers send
	MulticastGroup        netip.Addr   // zero: that of RFC 9568
	Source                netip.Addr   // of advertisements; zero: the own address nearest to the first one
	Checksum              Checksum
	DownTimerAdverts      int           // advertisements that may be missed
	StartupDelay          time.Duration // before the Active_Down_Timer of a node that starts
	BootDelay             time.Duration // the same, from the boot of the host on
	StartupInterval       time.Duration // the longest interval another router may have; 0: AdvertisementInterval
	Owner                 bool          // the address owner, with priority 255 in place of Priority
	AnyAddresses          bool          // any list of addresses is of this cluster
	VirtualMAC            string        // the interface with the virtual MAC, or autoName; "": there is none ([VIP.VirtualMACInterface])

	// AdvertiseFromInterface has advertisements leave with the interface's own MAC where there is a virtual one.
	AdvertiseFromInterface bool

	PasswordFile    string   // version 2: the file of the password; "" for none
	Detector        detector // how a Backup finds out that the holder is dead
	DetectorWitness Witness  // a host that answers in place of a third member
	Password        string   // its contents, as loaded; at most 8 bytes
}

// Key is the shared key and what is done with it.
type Key struct {
	File   string // "" without a key
	ID     uint8
	Mode   KeyMode
	Window time.Duration
	Accept []KeyRef // further keys that are accepted, but do not sign

	held held
}

// KeyRef is a key by its file.
type KeyRef struct {
	ID   uint8
	File string
}

// KeyMode says how far a node demands authentication.
type KeyMode string

// The modes.
const (
	KeyEnforce     KeyMode = "enforce"
	KeyPermissive  KeyMode = "permissive"
	KeyReceiveOnly KeyMode = "receive-only"
)

// Announce is about gratuitous ARP and unsolicited neighbour advertisements.
type Announce struct {
	Refresh       time.Duration // 0: none after the first burst
	RefreshRepeat int           // announcements of each refresh
	Repeat        int           // announcements of the first burst
	Delay         time.Duration // from binding to a second burst; 0: none
	By            announceBy
	Table         int   // of the routes
	Protocol      uint8 // of the routes
}

// Check is the local health check that gates one VIP.
type Check struct {
	URL              string // http, https or tcp, a preset's name or "none": see [VIP.AllChecks]
	CA               string // file; "": the certificate is not verified
	ServerName       string // "" with a CA: "kubernetes"
	Interval         time.Duration
	Timeout          time.Duration
	Rise, Fall       int
	WhenAllUnhealthy WhenAllUnhealthy
}

// Log is how the daemon logs.
type Log struct {
	Level  LogLevel
	Format logFormat
}

// Election names an elector.
type Election string

// The electors.
const (
	ElectionVRRP Election = "vrrp"
	ElectionRaft Election = "raft"
	// ElectionLocal is none: each fit node serves, and routers choose among them.
	ElectionLocal Election = "local"
)

// Elections are all of them, in the order of the reference.
func Elections() []Election { return []Election{ElectionVRRP, ElectionRaft, ElectionLocal} }

// detector names how a Backup finds out that the node of the holder is dead.
type detector string

// The detectors.
const (
	detectorPlain detector = "plain" // by the advertisements that do not come
	DetectorFast  detector = "fast"  // by beats, echoes, and what another member finds
)

// Checksum names what a VRRPv3 checksum over IPv4 covers (RFC 9568 section 5.2.8). Both forms are accepted from others.
type Checksum string

// The two forms that are in use.
const (
	ChecksumPseudoHeader Checksum = "pseudo-header" // as keepalived and FRR send it
	ChecksumMessageOnly  Checksum = "message-only"  // as RFC 9568 has it
)

// WhenAllUnhealthy says what an unhealthy node does while no node is fit.
type WhenAllUnhealthy string

// The two answers.
const (
	Hold    WhenAllUnhealthy = "hold"    // an unhealthy node may hold the addresses until a fitter one is heard
	Release WhenAllUnhealthy = "release" // an unhealthy node never holds them
)

// LogLevel is the least severe level that is logged.
type LogLevel string

// The levels of log/slog.
const (
	LogDebug LogLevel = "debug"
	LogInfo  LogLevel = "info"
	LogWarn  LogLevel = "warn"
	LogError LogLevel = "error"
)

// logFormat is the shape of a log line.
type logFormat string

// The handlers of log/slog.
const (
	logText logFormat = "text"
	LogJSON logFormat = "json"
)

const (
	noCheck = "none"
	off     = "off"
)
