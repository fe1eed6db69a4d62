package doctor

import (
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
	"github.com/keepvip/keepvip/internal/tools/routing"
)

// Facts is what was found on a host. What is not known is left out, and not judged.
type Facts struct {
	VIPs []config.VIP // what is to be held here, as configured
	// External are the entries that are somebody else's: none of them is among VIPs.
	External []External
	Key      Key

	Links []link.Link
	MTU   map[string]int // by the name of the interface
	// Sysctls are values by their path below /proc/sys, as "net/ipv4/conf/all/arp_ignore".
	Sysctls map[string]int
	// Default4 are the interfaces by which the default routes of IPv4 leave; none: there is none, or it is not known.
	Default4     []string
	Missing      []string                // capabilities that keepvip needs and this process has not
	Nftables     *Nftables               // nil: not looked at
	Lateness     *Lateness               // nil: not measured
	NoModules    []string                // of SpreadModules that this kernel has not; none: it has all, or it is not known
	LargeReceive map[string]bool         // interfaces that join packets as they come in (LRO)
	ForwardDrops []string                // chains that drop what they are not told to forward, as "ip filter FORWARD"
	Machine      Machine                 // the zero value: not known
	Wires        []Wire                  // what was heard, for each interface and family
	Peers        []Peer                  // the hosts on which a doctor was to listen at the same time
	Unreached    map[string]string       // by the name of the virtual address: who cannot connect to it at its holder
	Uncovered    map[string]string       // by the name of the virtual address: why clients are refused though the service is well
	Replies      map[string]Replies      // by the name of the virtual address: how what is said from it leaves; absent: not known
	Daemon       *Daemon                 // nil: no keepvip runs here
	NoIPv6       bool                    // this kernel has no IPv6
	PortTaken    bool                    // another program has the members' UDP port
	MembersOff   bool                    // port is 0, with which nodes say nothing to each other but advertisements
	Connections  []Connect               // to the other voters of Raft
	Names        map[string][]netip.Addr // what the names in checks stand for here
	Certificates []Serving               // of the services that are checked
	NotServing   []Serving               // by HTTPS, and did not answer: without names
	Endpoints    []Endpoint              // where the cluster's own files say that the apiserver is
	Routing      []routing.Daemon        // the routing daemons, asked of the routed addresses; none: there is none, or no address is routed
	Echoes       []Echoes                // how members answered echo requests, at each place; none: not measured, or nobody was heard
	Kubelet      *Kubelet                // nil: none is seen here
	Files        []CertificateFile       // certificates in files of the cluster and of keepvip
	Subnets      []ClusterSubnet         // of services and pods
	Announced    map[string]bool         // by the name of the virtual address: this host has a route to it now
}

// Replies are how what this host says from a virtual address leaves it.
type Replies struct {
	Lost, Remedy string // why it does not leave where what is said from the own address does, and what mends that; empty: it does
	ByRule       bool   // a routing rule decides: the default route alone tells nothing
}

// Key is what this host knows of the shared key.
type Key struct {
	Enforced bool          // what no key has signed is refused
	IDs      []string      // of the members' protocol, of every key that is accepted; none: there is no key
	Window   time.Duration // how far clocks may be apart
}

// Nftables is what the kernel can do for a fence. An error says what it cannot.
type Nftables struct{ Netdev, Egress error }

// Lateness is how late a thread was woken while the doctor listened.
type Lateness struct {
	Worst time.Duration
	Over  time.Duration // how long that was measured
}

// Echoes is how the members on one interface, in one family, answered echo requests.
type Echoes struct {
	Interface string
	IPv4      bool
	Over      time.Duration // how long that was measured
	Late      time.Duration // how late a thread was woken meanwhile, at worst
	Members   []Echoed
}

// Echoed is how one member did.
type Echoed struct {
	Address        netip.Addr
	Node           string
	Sent, Answered int
	Worst          time.Duration // the slowest answer
}

// Machine is what the firmware says of itself (DMI).
type Machine struct{ Vendor, Product, Asset string }

// Wire is what was heard on one interface, in one family.
type Wire struct {
	Interface string
	IPv4      bool
	Adverts   []Advert
	Hellos    []Hello
	Claims    []Claim // who answers for a virtual address
	// Digests are those of the addresses that this host would advertise, by the name of the virtual address.
	Digests map[string]uint32
	Probes  []Probe // of other doctors, on the link
	// OutVRRP and OutMembers are why packets of this host do not leave, as the kernel says; nil when they do.
	OutVRRP, OutMembers error
	// Heard tells that sockets of this host listened, so that what is on the wire and does not arrive there is dropped here.
	HeardVRRP, HeardMembers bool
}

// Advert is the newest advertisement of one sender and virtual router.
type Advert struct {
	Source    netip.Addr
	MAC       string
	Own       bool // of this host
	Arrived   bool // past the firewall of this host
	Version   uint8
	VRID      uint8
	Priority  uint8
	Interval  time.Duration
	Addresses []netip.Addr
}

// Hello is the newest message of one sender and group of members.
type Hello struct {
	Source   netip.Addr
	MAC      string
	Own      bool // of this host
	Arrived  bool // past the firewall of this host
	Group    netip.Addr
	Node     string
	Software string
	Session  uint64
	Hears    []uint64 // the sessions whose messages it hears
	Misses   []uint64 // of these, the ones that claim the address and whose advertisements do not arrive there
	Full     bool     // Hears has no room for more
	Claims   bool     // it says that it advertises
	Version  uint8    // of VRRP
	VRID     uint8
	Interval time.Duration
	// Addresses is the digest of those that it advertises or would (members.DigestOf); 0: it does not say.
	Addresses uint32
	MTU       int           // of its interface; 0: it does not say
	KeyID     string        // of the key that it is signed with; "": unsigned
	Ahead     time.Duration // of this host's clock
}

// Probe is one of another doctor, by protocol 112 or by UDP to the members' port.
type Probe struct {
	Source netip.Addr
	VRRP   bool
}

// Peer is what a doctor on another host and this one have heard of each other.
type Peer struct {
	Address                 netip.Addr
	HeardVRRP, HeardMembers bool // its probes, past the firewall of this host
	Refused                 bool // a probe of it was not signed with a key of this host, or signed where there is none
	Probes                  int
	// Tells is true when it was heard for long enough to say what it hears of this host.
	Tells                             bool
	VRRPHeardThere, MembersHeardThere bool
}

// Claim is a host that speaks as the owner of a virtual address.
type Claim struct {
	Address netip.Addr
	MAC     string
	VRID    uint8      // of its virtual MAC; 0: it has an ordinary one
	Host    netip.Addr // the own address of that host, if it is a peer of the configuration or a member that was heard
}

// Daemon is what the running keepvip says.
type Daemon struct {
	Version  string
	Lateness time.Duration
	Fenced   map[string]string // by the name of the virtual address: "" in place, else why not
	Silent   map[string]string // Active without a lease: why
	KeptOut  []KeptOut
}

// KeptOut is a member whose messages the running keepvip refuses by its configuration: it is no listed peer, or is behind a router.
type KeptOut struct {
	VIP          string
	Source       netip.Addr
	Code         code.Code
	Text, Remedy string
}

// keptOut is how the running keepvip refuses what comes from a; nil: it does not.
func (f Facts) keptOut(a netip.Addr) *KeptOut {
	if f.Daemon == nil {
		return nil
	}
	for i := range f.Daemon.KeptOut {
		if k := &f.Daemon.KeptOut[i]; k.Source == a {
			return k
		}
	}
	return nil
}

// Connect is an attempt to connect to another voter.
type Connect struct {
	To      netip.AddrPort
	Err     error
	Refused bool // somebody has answered that nothing listens
}

// Serving is a service that a check asks, and the names in its certificate.
type Serving struct {
	VIP, URL  string
	Addresses []netip.Addr
	DNS       []string
	Ends      time.Time     // when the certificate expires; zero: that was not read
	Left      time.Duration // until then, when it was read; 0 or less: it has expired
}

// Endpoint is where a file says that the apiserver is.
type Endpoint struct {
	File    string
	Key     string // "server", "controlPlaneEndpoint"
	Host    string // without scheme and port
	Address netip.Addr
	// Resolves are what a name stands for here; empty for an address.
	Resolves []netip.Addr
}
