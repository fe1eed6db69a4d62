package trial

import (
	"hash/fnv"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/members/envelope"
	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
	"github.com/keepvip/keepvip/vrrp"
)

const (
	// otherCount is how many clusters are on the link beside the one that is tried, each of three nodes with the defaults.
	otherCount = 299
	// otherRate is what they say in a second: the holders advertise ten times, and each node says one HELLO.
	otherRate = 10*otherCount + 3*otherCount
)

// derivedVRID is the VRID of a cluster that names none (docs/configuration.md).
func derivedVRID(a netip.Addr) int {
	h := fnv.New32a()
	h.Write(a.AsSlice()) // a hash never returns an error
	return int(1 + h.Sum32()%255)
}

// otherCluster is a cluster on the same link.
type otherCluster struct {
	address netip.Addr
	vrid    int
	nodes   [3]netip.Addr
}

// otherClusters are so many. The first one has the group's own VRID, as about one of 255 has.
func otherClusters(g *Group) (all []otherCluster) {
	own := g.Settings[0].VRID
	if own == 0 {
		own = derivedVRID(g.Addresses[0])
	}
	a := netip.AddrFrom4([4]byte{10, 77, 200, 0})
	next := func() otherCluster {
		a = a.Next()
		return otherCluster{address: a, vrid: derivedVRID(a)}
	}
	first := next()
	for first.vrid != own {
		first = next()
	}
	all = append(all, first)
	for len(all) < otherCount {
		all = append(all, next())
	}
	for i := range all {
		for n := range all[i].nodes {
			at := 3*i + n
			all[i].nodes[n] = netip.AddrFrom4([4]byte{10, 77, byte(100 + at/250), byte(1 + at%250)})
		}
	}
	return all
}

// Neighbour is the holder of another cluster that has the group's own VRID.
func (g *Group) Neighbour() netip.Addr { return otherClusters(g)[0].nodes[0] }

// clustersBeside is what they say in a second.
func clustersBeside(g *Group) [][]byte {
	var adverts, hellos, frames [][]byte
	for i, c := range otherClusters(g) {
		adverts = append(adverts, forgeFrom(g, lab.Forgery{
			Version: 3, VRID: c.vrid, Priority: 100, Interval: 100 * time.Millisecond, Addresses: []netip.Addr{c.address},
		}, c.nodes[0]))
		for n, from := range c.nodes {
			hello := members.Message{Type: members.Hello, Session: uint64(1 + 3*i + n), Peer: members.PeerState{
				Self:  members.Self{State: vrrp.Backup, Base: 100, Priority: 100, Fit: true},
				Group: c.address, Node: "n", Software: "v0", Revision: members.Revision, Lifetime: 3500 * time.Millisecond,
			}}
			content, err := hello.Append(nil, 1)
			if err != nil {
				panic(err) // it is a message of our own
			}
			hellos = append(hellos, g.Lab.Client.ForgeUDP(netip.AddrPortFrom(from, envelope.SourcePort), membersPort, content))
		}
	}
	for round := range 10 {
		frames = append(frames, adverts...)
		frames = append(frames, hellos[round*len(hellos)/10:(round+1)*len(hellos)/10]...)
	}
	return frames
}

// Crowded is what other clusters cost one.
type Crowded struct {
	Sent, Idle, CPU float64 // frames a second; percent of a processor of the busiest daemon before, and beside them
}

// BesideOthers has the group be one of many clusters on the link for a while.
func BesideOthers(g *Group, length time.Duration) (c Crowded, err error) {
	defer try.Catch(&err)
	c.Idle = g.busiest(min(length, 30*time.Second))
	began := time.Now()
	flood := try.Get(g.Lab.Flood(g.Lab.Client, clustersBeside(g), otherRate))
	c.CPU = g.busiest(length)
	c.Sent = float64(flood.Stop()) / time.Since(began).Seconds()
	return c, nil
}

// manyClusters has a group be one of three hundred clusters on a link for ten minutes: nothing moves.
func manyClusters(g *Group, _ bool) Findings {
	const length = 10 * time.Minute
	var seen Crowded
	// Probes are seldom: a million of them would be kept, and they say no more.
	res := try.Get(g.run("three hundred clusters on a link", lab.MeasureConfig{NoDirect: true, Interval: 20 * time.Millisecond}, func(m *lab.Measurement, holder *lab.Node) time.Duration {
		at := m.Mark("the other clusters begin")
		seen = try.Get(BesideOthers(g, length))
		return at
	}))
	return Findings{
		none("false takeovers", res.Takeovers),
		{What: "packets of the others", Got: seen.Sent, Limit: -1, Unit: "a second"},
		{What: "processor of the busiest daemon, alone", Got: seen.Idle, Limit: -1, Unit: "%"},
		{What: "beside the others", Got: seen.CPU, Limit: 5, Unit: "%"},
	}
}
