package trial

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"reflect"
	"strings"
	"time"

	"github.com/keepvip/keepvip/members/envelope"
	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// Flood is more of something than anybody needs, towards every node or towards the holder.
type Flood struct {
	Name   string
	Config Config
	open   func(host *lab.Host) (*Group, error) // nil: a group of Config
	// begin and beside take steps that are caught. beside has others ask so many times while it goes on, and returns how many were served; nil: nobody asks.
	begin  func(g *Group, holder *lab.Node) (stop func() int)
	beside func(g *Group, holder *lab.Node, times int) (served int)
}

// asksBeside is how often others ask while a flood goes on.
const asksBeside = 20

// Flooded is what a flood has cost.
type Flooded struct {
	Rate        float64 // in a second
	CPU         float64 // of the busiest daemon, per cent of a core
	RSS         int64   // at most, octets
	Lines       int     // in the log of the daemon that has most to say
	Transitions int     // changes of state on all nodes, and moves of the address
	Silent      time.Duration
	Two         time.Duration // two answered
	BySilence   int           // moves, because the holder had ceased to advertise
	Late        time.Duration // how late a daemon served a timer, at most
	Asked       int           // by others meanwhile
	Served      int           // of these
}

// Limits of a flood: wide bounds, which a machine with two cores and other work keeps.
const (
	floodCPU   = 60
	floodRSS   = 64 << 20
	floodLines = 60
)

const (
	// metricsAddress is where the flooded nodes have their metrics.
	metricsAddress = "127.0.0.1:9645"
	// unprivileged is a user of the node without privileges: nobody.
	unprivileged = 65534
)

// Floods are all of them.
func Floods() []Flood {
	plain := Config{Product: Keepvip{Metrics: metricsAddress}}
	fast := Config{Product: Keepvip{Metrics: metricsAddress}, Interval: 10 * time.Millisecond}
	realtime := Config{Product: Keepvip{Metrics: metricsAddress, Args: []string{"--realtime"}}, Interval: 10 * time.Millisecond}
	metrics := lab.CallersConfig{Network: "tcp", Address: metricsAddress, User: unprivileged, Say: ask("/metrics")}
	equals := metrics
	equals.Equal = true
	socket := lab.CallersConfig{Network: "unix", Say: ask("/v1/status")}
	history := socket
	history.Say = ask("/v1/history")
	port := lab.CallersConfig{Network: "tcp", Say: "junk\n", User: unprivileged}
	beside := port
	beside.Hops = 255 // the kernel drops the others
	return append([]Flood{
		{Name: "metrics, requests", Config: plain, begin: callsTo(metrics, 50, 0)},
		{Name: "metrics, idle connections", Config: plain, begin: callsTo(metrics, 0, 2000)},
		{Name: "metrics, 6,000 idle connections and 200 callers, 10 ms", Config: fast, begin: callsTo(metrics, 200, 6000)},
		{Name: "metrics, the same, 10 ms, realtime", Config: realtime, begin: callsTo(equals, 200, 6000), beside: kubelet},
		{Name: "control socket, requests", Config: plain, begin: callsTo(socket, 50, 0)},
		{Name: "control socket, idle connections", Config: plain, begin: callsTo(socket, 0, 1000)},
		{Name: "control socket, 50 that ask for the status, 500 that read nothing, 10 ms", Config: fast, begin: callsTo(socket, 50, 500)},
		{Name: "control socket, 50 that ask for the history, 500 that read nothing, 10 ms", Config: fast, begin: callsTo(history, 50, 500)},
		{Name: "members' port, junk", Config: plain, begin: framesFrom(10_000, membersJunk)},
		{Name: "members' port, junk, with a key", Config: Config{Product: Keyed{}}, begin: framesFrom(10_000, membersJunk)},
		{Name: "members' port, beats and words of strangers", Config: Config{Product: Fast()}, begin: framesFrom(3_000, strangersWords)},
		{Name: "members' port, beats and words of strangers, with a key", Config: Config{Product: Keyed{Args: Fast().Args}}, begin: framesFrom(3_000, strangersWords)},
		{Name: "lifelines' port, strangers", Config: plain, begin: callsFrom(beside, 30, 300)},
		{Name: "Raft's port, junk", Config: RaftConfig(Raft{}), begin: callsFrom(port, 30, 0)},
		{Name: "Raft's port, idle connections", Config: RaftConfig(Raft{}), begin: callsFrom(port, 0, 300)},
		{Name: "ARP, claims of many hosts", Config: plain, begin: framesFrom(5_000, claims)},
		{Name: "VRRP, 500 routers of lower priority", Config: plain, begin: framesFrom(2_000, lowRouters)},
		{Name: "VRRP, 299 other clusters on the link", Config: plain, begin: framesFrom(otherRate, clustersBeside)},
		{Name: "VRRP, 500 routers of lower priority, with a key", Config: Config{Product: Keyed{}}, begin: framesFrom(10_000, lowRouters)},
	}, floodsOfUsers()...)
}

// ask is a request for a path.
func ask(path string) string {
	return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
}

// callsTo calls the holder from itself: its control socket where no address is named.
func callsTo(c lab.CallersConfig, busy, idle int) func(*Group, *lab.Node) func() int {
	return func(_ *Group, holder *lab.Node) func() int {
		c := c
		if c.Address == "" {
			c.Address = Socket(holder)
		}
		return calls(holder.Namespace, c, busy, idle)
	}
}

// callsFrom calls the holder's port of the members from the client.
func callsFrom(c lab.CallersConfig, busy, idle int) func(*Group, *lab.Node) func() int {
	return func(g *Group, holder *lab.Node) func() int {
		c := c
		c.Address = netip.AddrPortFrom(holder.Address, membersPort).String()
		return calls(g.Lab.Client.Namespace, c, busy, idle)
	}
}

// calls is a part of what begins a flood.
func calls(from *lab.Namespace, c lab.CallersConfig, busy, idle int) (stop func() int) {
	c.Busy, c.Idle = busy, idle
	return try.Get(from.StartCallers(c)).Stop
}

// framesFrom sends frames to everybody from the client.
func framesFrom(perSecond int, make func(g *Group) [][]byte) func(*Group, *lab.Node) func() int {
	return func(g *Group, _ *lab.Node) func() int {
		return try.Get(g.Lab.Flood(g.Lab.Client, make(g), perSecond)).Stop
	}
}

// absentHosts are addresses of hosts that are not there.
func absentHosts(count int) []netip.Addr {
	all := make([]netip.Addr, count)
	for i := range all {
		all[i] = netip.AddrFrom4([4]byte{10, 77, byte(1 + i/250), byte(1 + i%250)})
	}
	return all
}

// membersJunk are datagrams of many hosts that begin like a HELLO.
func membersJunk(g *Group) [][]byte {
	var frames [][]byte
	for _, source := range absentHosts(500) {
		content := append([]byte("kpvp\x01\x01"), make([]byte, 60)...)
		_, _ = rand.Read(content[6:]) // never fails
		binary.BigEndian.PutUint16(content[6:], uint16(len(content)-24))
		frames = append(frames, g.Lab.Client.ForgeUDP(netip.AddrPortFrom(source, envelope.SourcePort), membersPort, content))
	}
	return frames
}

// claims are gratuitous ARP requests of many hosts that all claim the address.
func claims(g *Group) [][]byte {
	var frames [][]byte
	for i := range 500 {
		mac := net.HardwareAddr{2, 0xff, 0, 0, byte(i >> 8), byte(i)}
		frames = append(frames, g.Lab.Client.ForgeClaim(mac, g.Addresses[0]))
	}
	return frames
}

// lowRouters are advertisements of many routers, each with the priority 1.
func lowRouters(g *Group) [][]byte {
	var frames [][]byte
	for _, source := range absentHosts(500) {
		frames = append(frames, forgeFrom(g, lab.Forgery{
			Version: 3, VRID: g.Settings[0].VRID, Priority: 1, Interval: g.Settings[0].Interval, Addresses: g.Addresses[:1],
		}, source))
	}
	return frames
}

// Shares tells whether another flood may have the same group, one after the other.
func (f Flood) Shares(other Flood) bool {
	return f.open == nil && other.open == nil && reflect.DeepEqual(f.Config, other.Config)
}

// Open opens a group to be flooded.
func (f Flood) Open(host *lab.Host) (*Group, error) {
	if f.open != nil {
		return f.open(host)
	}
	return OpenMixed(host, f.Config)
}

// Run opens a group of its own and floods it for a while.
func (f Flood) Run(host *lab.Host, length time.Duration) (_ Flooded, err error) {
	defer try.Catch(&err)
	g := try.Get(f.Open(host))
	defer g.Close()
	return f.On(g, length)
}

// On floods a group for a while.
func (f Flood) On(g *Group, length time.Duration) (found Flooded, err error) {
	defer try.Catch(&err)
	time.Sleep(time.Second) // past the announcements of the start
	var before []said
	res := try.Get(g.run(f.Name, lab.MeasureConfig{}, func(m *lab.Measurement, holder *lab.Node) time.Duration {
		before = g.said()
		at := m.Mark("%s: begins", f.Name)
		used, began := g.cpu(), time.Now()
		stop := f.begin(g, holder)
		time.Sleep(length)
		if f.beside != nil {
			found.Asked, found.Served = asksBeside, f.beside(g, holder, asksBeside)
		}
		took := time.Since(began)
		for i, after := range g.cpu() {
			found.CPU = max(found.CPU, float64(after-used[i])/float64(took)*100)
		}
		found.Rate = float64(stop()) / took.Seconds()
		m.Mark("%s: ends", f.Name)
		time.Sleep(g.span())
		return at
	}))
	found.Silent, found.Two, found.Transitions = res.Outage, res.Two, res.Takeovers
	found.BySilence = res.Report.Silences(0)
	for _, n := range g.running() {
		found.Late = max(found.Late, time.Duration(try.Get(Keepvip{}.Status(n)).VIPs[0].Lateness*float64(time.Second)))
		peak, err := g.Daemon(n).PeakRSS()
		if err != nil {
			return found, fmt.Errorf("trial: %s: the daemon on %s: %w\n%s", f.Name, n.Label, err, g.Logs())
		}
		found.RSS = max(found.RSS, peak)
	}
	for i, after := range g.said() {
		found.Lines = max(found.Lines, after.lines-before[i].lines)
		found.Transitions += after.changes - before[i].changes
	}
	return found, nil
}

// said is what a daemon has logged so far.
type said struct{ lines, changes int }

func (g *Group) said() []said {
	all := make([]said, len(g.Daemons))
	for i, p := range g.Daemons {
		if p == nil {
			continue
		}
		log := p.Log()
		all[i] = said{lines: strings.Count(log, "\n"), changes: strings.Count(log, `msg="state changed"`)}
	}
	return all
}

// Findings compares it with the limits. An address moves where its holder has ceased to advertise for long enough, on any machine, or goes
// and comes back at a holder that finds itself late; each such move is two changes on both nodes and a bind, and perhaps the way back.
func (f Flooded) Findings() Findings {
	moved := none("transitions that no silence explains", f.Unexplained())
	return Findings{
		{What: "rate", Got: f.Rate, Limit: -1, Unit: "a second"},
		{What: "processor", Got: f.CPU, Limit: floodCPU, Unit: "% of a core"},
		{What: "memory", Got: float64(f.RSS) / (1 << 20), Limit: floodRSS >> 20, Unit: "MiB"},
		{What: "log", Got: float64(f.Lines), Limit: floodLines, Unit: "lines"},
		moved, took("silent", f.Silent, 20*time.Millisecond), took("two answered for", f.Two, 20*time.Millisecond),
		told("a timer late", f.Late), none("others not served", f.Asked-f.Served),
	}
}

// Unexplained are the transitions beyond those of moves from a holder that had ceased to advertise.
func (f Flooded) Unexplained() int { return max(f.Transitions-10*f.BySilence, 0) }
