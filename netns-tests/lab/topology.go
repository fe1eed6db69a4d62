package lab

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// The virtual addresses that measurements probe unless told otherwise.
var (
	VIP4 = netip.MustParseAddr("10.77.0.100")
	VIP6 = netip.MustParseAddr("fd77::100")
)

// Config says what a lab looks like. The zero value is three nodes with one
// NIC named eth0, an on-link client and nothing else.
type Config struct {
	Nodes int // number of nodes, 0 = 3
	// NICs holds the NIC names of each node, in order of LANs; a node without
	// an entry has the first node's, and without any entry one NIC eth0.
	// LAN 0 is 10.77.0.0/24 and fd77::/64, LAN 1 10.78.., LAN 2 10.79...
	NICs    [][]string
	OffLink bool // adds the router r1 and the client c2 behind it
}

// Lab is a running network of namespaces.
type Lab struct {
	Nodes   []*Node
	Client  *Peer // c1, on-link
	Router  *Peer // r1, nil without OffLink
	OffLink *Peer // c2, nil without OffLink
	Dir     string
	Switch  *Namespace

	run     string
	host    *Host
	epoch   time.Time
	monitor *Peer
	lock    *os.File
	spaces  []*Namespace
	lans    int
	echoes  []*echo
	closed  sync.Once

	leaseAPI func() (url string, err error)

	mu       sync.Mutex
	measures map[*Measurement]struct{} // not stopped yet
	closers  []func()                  // of what else has sockets in the namespaces
}

// Peer is a host of the lab that runs no program under test.
type Peer struct {
	*Namespace
	MAC     net.HardwareAddr
	Address netip.Addr // its IPv4 address
	Addr6   netip.Addr
}

// Open builds a lab. Close it; it is also removed when this process ends.
func (h *Host) Open(cfg Config) (*Lab, error) {
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("lab: needs root to make network namespaces: run it with sudo")
	}
	cfg = cfg.withDefaults()
	l := &Lab{host: h, epoch: time.Now(), lans: cfg.lans(), measures: map[*Measurement]struct{}{}, run: fmt.Sprintf("%s%d", runsOf(os.Getpid()), h.runs.Add(1))}
	l.leaseAPI = sync.OnceValues(l.startLeaseAPI)
	h.mu.Lock()
	h.labs[l] = struct{}{}
	h.mu.Unlock()
	if err := l.build(cfg); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

func (c Config) withDefaults() Config {
	if c.Nodes == 0 {
		c.Nodes = 3
	}
	if len(c.NICs) == 0 {
		c.NICs = [][]string{{"eth0"}}
	}
	for len(c.NICs) < c.Nodes {
		c.NICs = append(c.NICs, c.NICs[0])
	}
	return c
}

func (c Config) lans() int {
	return len(slices.MaxFunc(c.NICs, func(a, b []string) int { return len(a) - len(b) }))
}

func (l *Lab) build(cfg Config) (err error) {
	defer try.Catch(&err)
	l.Dir, l.lock = try.Two(claimRun(l.run))
	try.Do(l.host.reaped())
	try.Do(l.buildSwitch())
	for i := range cfg.Nodes {
		try.Do(l.buildNode(i+1, cfg.NICs[i]))
	}
	for _, n := range l.Nodes {
		l.echoes = append(l.echoes, try.Get(startEcho(n)))
	}
	l.Client = try.Get(l.buildPeer("c1", 201))
	l.monitor = try.Get(l.buildPeer("monitor", 250))
	if cfg.OffLink {
		try.Do(l.buildOffLink())
	}
	return l.settle()
}

func (l *Lab) buildSwitch() (err error) {
	defer try.Catch(&err)
	l.Switch = try.Get(l.space("sw"))
	// The switch is no host: without IPv6 on its ports it says nothing itself.
	for _, key := range []string{"all", "default"} {
		try.Do(l.Switch.Sysctl("net/ipv6/conf/"+key+"/disable_ipv6", "1"))
	}
	var script []string
	for lan := range l.lans {
		br := bridgeName(lan)
		script = append(script, "link add "+br+" type bridge stp_state 0 forward_delay 0 mcast_snooping 0", "link set "+br+" up")
	}
	return l.batch(l.Switch.Name, strings.Join(script, "\n"))
}

// space makes a namespace that belongs to this run.
func (l *Lab) space(name string) (_ *Namespace, err error) {
	defer try.Catch(&err)
	n := try.Get(makeNamespace(l.run + "-" + name))
	l.spaces = append(l.spaces, n)
	return n, n.Sysctl("net/ipv6/conf/default/accept_dad", "0")
}

// buildPeer adds a host to LAN 0 with host number id.
func (l *Lab) buildPeer(name string, id int) (_ *Peer, err error) {
	defer try.Catch(&err)
	space := try.Get(l.space(name))
	p := &Peer{Namespace: space, MAC: hostMAC(0, id), Address: host4(0, id), Addr6: host6(0, id)}
	return p, l.plug(space, id, NIC{Name: "eth0", Port: "p-" + name})
}

// plug makes veths from the namespace to the switch, with MAC addresses of host number id, and gives them addresses.
func (l *Lab) plug(space *Namespace, id int, nics ...NIC) (err error) {
	defer try.Catch(&err)
	var ports, links []string
	for _, nic := range nics {
		ports = append(ports, fmt.Sprintf("link add %s type veth peer name %s address %s netns %s", nic.Port, nic.Name, hostMAC(nic.LAN, id), space.Name),
			fmt.Sprintf("link set %s master %s", nic.Port, bridgeName(nic.LAN)), fmt.Sprintf("link set %s up", nic.Port))
		links = append(links, fmt.Sprintf("link set %s up", nic.Name), fmt.Sprintf("addr add %s/24 brd + dev %s", host4(nic.LAN, id), nic.Name),
			fmt.Sprintf("addr add %s/64 dev %s nodad", host6(nic.LAN, id), nic.Name))
	}
	try.Do(l.batch(l.Switch.Name, strings.Join(ports, "\n")))
	return l.batch(space.Name, strings.Join(links, "\n"))
}

// buildOffLink puts c2 (10.97.0.2, fd97::2) behind r1 (.254 on LAN 0).
func (l *Lab) buildOffLink() (err error) {
	defer try.Catch(&err)
	l.Router = try.Get(l.buildPeer("r1", 254))
	c2 := try.Get(l.space("c2"))
	l.OffLink = &Peer{Namespace: c2, Address: netip.MustParseAddr("10.97.0.2"), Addr6: netip.MustParseAddr("fd97::2")}
	for _, key := range []string{"net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding"} {
		try.Do(l.Router.Sysctl(key, "1"))
	}
	try.Do(l.batch(l.Router.Name, strings.Join([]string{
		"link add far type veth peer name eth0 netns " + c2.Name,
		"link set far up",
		"addr add 10.97.0.1/24 dev far",
		"addr add fd97::1/64 dev far nodad",
	}, "\n")))
	try.Do(l.batch(c2.Name, strings.Join([]string{
		"link set eth0 up",
		"addr add 10.97.0.2/24 dev eth0",
		"addr add fd97::2/64 dev eth0 nodad",
		"route add default via 10.97.0.1",
		"route add default via fd97::1",
	}, "\n")))
	for _, n := range l.Nodes {
		try.Do(n.routeOffLink())
	}
	return nil
}

// settle waits until every node can be reached, so that no measurement starts
// on a network that is still coming up.
func (l *Lab) settle() error {
	for _, n := range l.Nodes {
		for _, addr := range []netip.Addr{n.Address, n.Addr6} {
			if !l.Reaches(l.Client.Namespace, addr, time.Minute) { // only who waits in vain waits for so long
				return fmt.Errorf("lab: %s does not answer at %s", n.Label, addr)
			}
		}
	}
	return nil
}

// Reaches reports whether the echo at an address answers within the limit.
func (l *Lab) Reaches(from *Namespace, addr netip.Addr, limit time.Duration) bool {
	s, err := l.startStream("", from, addr, 5*time.Millisecond, min(limit, 200*time.Millisecond))
	if err != nil {
		return false
	}
	comes(limit, 2*time.Millisecond, func() bool { return s.answered.Load() > 0 })
	r := s.finish()
	return r.Sent > r.Lost
}

// Close stops every program of the lab and removes it. It may be called again,
// also at the same time, and returns when the lab is gone.
func (l *Lab) Close() { l.closed.Do(l.remove) }

func (l *Lab) remove() {
	defer func() {
		l.host.mu.Lock()
		delete(l.host.labs, l)
		l.host.mu.Unlock()
	}()
	for _, m := range l.running() {
		m.Stop()
	}
	for _, end := range l.ends() {
		end()
	}
	for _, e := range l.echoes {
		e.close()
	}
	for _, n := range l.Nodes {
		n.KillAll()
	}
	for _, s := range l.spaces {
		s.close()
	}
	if l.lock != nil {
		removeRun(l.run)
		l.lock.Close()
	}
}

// running lists the measurements that nobody has stopped, as after a failure.
func (l *Lab) running() []*Measurement {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.measures))
}

// atEnd has the lab call something that may be called more than once when it is removed.
func (l *Lab) atEnd(end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closers = append(l.closers, end)
}

func (l *Lab) ends() []func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.closers)
}

// Now is the time on the clock of every report: monotonic, zero at [Host.Open].
func (l *Lab) Now() time.Duration { return time.Since(l.epoch) }

// Instant is when something happened that a program has logged by the wall clock.
func (l *Lab) Instant(t time.Time) time.Duration {
	now := time.Now()
	return now.Sub(l.epoch) - now.Round(0).Sub(t)
}

// instant converts a kernel timestamp (CLOCK_REALTIME) to the lab's clock through its age, however late it is read. Both clocks are read
// again where this thread did not run in between.
func (l *Lab) instant(stamp time.Time) time.Duration {
	const soon, tries = 20 * time.Microsecond, 5
	before := time.Now()
	for try := 0; ; try++ {
		now := time.Now()
		if time.Since(before) < soon || try == tries {
			return now.Sub(l.epoch) - time.Duration(now.UnixNano()-stamp.UnixNano())
		}
		before = time.Now()
	}
}

func (l *Lab) ip(args ...string) error { return try.Err(l.Switch.Run("ip", args...)) }

func (l *Lab) batch(space, script string) error {
	return try.Err(l.Switch.RunInput(script, "ip", "-n", space, "-batch", "-"))
}

func bridgeName(lan int) string    { return fmt.Sprintf("br%d", lan) }
func host4(lan, id int) netip.Addr { return netip.AddrFrom4([4]byte{10, byte(77 + lan), 0, byte(id)}) }

func hostMAC(lan, id int) net.HardwareAddr {
	return net.HardwareAddr{0x02, 0x6b, 0x76, byte(lan), 0, byte(id)}
}
func (l *Lab) nodeDir(name string) string { return filepath.Join(l.Dir, name) }

// host6 writes the host number in decimal digits, so that fd77::11 is n1.
func host6(lan, id int) netip.Addr {
	return netip.MustParseAddr(fmt.Sprintf("fd%d::%d", 77+lan, id))
}
