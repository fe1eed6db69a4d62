package trial

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

const (
	// listenerPort is that of follow.listen on the flooded nodes.
	listenerPort = 19443
	// crowdPorts is from how many ports one host asks a member who the others are.
	crowdPorts = 3000
)

// floodsOfUsers are those that a user without a privilege makes while others ask for what they are entitled to.
func floodsOfUsers() []Flood {
	probed := Config{Product: Keepvip{Args: []string{"--health", fmt.Sprintf("0.0.0.0:%d", healthPort), "--metrics", metricsAddress}}}
	return []Flood{
		{
			Name: "listener for balancers, 5,000 idle connections from 127.0.0.0/8", Config: probed, beside: probes,
			begin: callsTo(lab.CallersConfig{Network: "tcp", Address: fmt.Sprintf("127.0.0.1:%d", healthPort), User: unprivileged, Scattered: true}, 0, 5000),
		},
		{Name: "ports of metrics and balancers, taken before a start", Config: probed, begin: takesPorts, beside: probes},
		listenerFlood(), crowdFlood(), placesFlood(),
	}
}

// probes are those of a balancer on another host.
func probes(g *Group, holder *lab.Node, times int) (served int) {
	at := netip.AddrPortFrom(holder.Address, healthPort)
	for range times {
		line, err := g.other(holder).Ask(at, "/healthz", 2*time.Second)
		served += count(err == nil && line == "200")
		time.Sleep(10 * time.Millisecond)
	}
	return served
}

// kubelet asks as root, and takes a daemon for dead that does not answer twice.
func kubelet(_ *Group, holder *lab.Node, times int) (served int) {
	lives := func() bool {
		line, err := holder.Ask(netip.MustParseAddrPort(metricsAddress), "/livez", 2*time.Second)
		return err == nil && line == "200"
	}
	for range times {
		answered := lives()
		if !answered {
			answered = lives()
		}
		served += count(answered)
		time.Sleep(100 * time.Millisecond)
	}
	return served
}

// other is another node than that one.
func (g *Group) other(than *lab.Node) *lab.Node { return g.Lab.Nodes[than.ID%len(g.Lab.Nodes)] }

// takesPorts kills keepvip on a Backup, takes the ports of its listeners, and starts it again.
func takesPorts(g *Group, holder *lab.Node) (stop func() int) {
	n := g.other(holder)
	try.Do(g.Daemon(n).Kill9())
	try.Get(g.Daemon(n).Wait(2 * time.Second))
	k := try.Get(n.StartCallers(lab.CallersConfig{User: unprivileged, Take: []string{metricsAddress, fmt.Sprintf("0.0.0.0:%d", healthPort)}}))
	try.Do(g.Start(n))
	try.Get(until(SettleLimit, n.Label+" takes part", func() bool {
		s, err := Keepvip{}.Status(n)
		return err == nil && s.VIPs[0].State == "backup"
	}))
	return k.Stop
}

// listenerFlood takes the places of follow.listen, while others connect to the service there, and hold connections that they had before.
func listenerFlood() Flood {
	at := netip.MustParseAddrPort(fmt.Sprintf("127.0.0.1:%d", listenerPort))
	args := []string{"--follow-listen", at.String(), "--follow-on-members=true", "--follow-connections", "200"}
	var held *lab.Held
	return Flood{
		Name: "follow.listen of 200 places, 1,000 idle connections",
		open: func(host *lab.Host) (_ *Group, err error) {
			defer try.Catch(&err)
			return try.Get(OpenSpread(host, SpreadConfig{V4: true, Product: WithSpread{Keepvip: Keepvip{Args: args}}})).Group, nil
		},
		begin: func(g *Group, holder *lab.Node) func() int {
			try.Get(until(SettleLimit, "the listener serves", func() bool {
				got, err := g.Lab.Sample(holder.Namespace, at, asksBeside)
				return err == nil && got.Served() == asksBeside
			}))
			held = try.Get(g.Lab.Hold(holder.Namespace, lab.HeldConfig{Target: at, Count: asksBeside}))
			return calls(holder.Namespace, lab.CallersConfig{Network: "tcp", Address: at.String(), User: unprivileged}, 0, 1000)
		},
		beside: func(g *Group, holder *lab.Node, times int) int {
			try.Get(until(SettleLimit, "the log names who has all places", func() bool {
				log := g.Daemon(holder).Log()
				return strings.Contains(log, "KV384") && strings.Contains(log, fmt.Sprintf("owner=\"user %d\"", unprivileged))
			}))
			got := try.Get(g.Lab.Sample(holder.Namespace, at, times))
			if lost := held.Stop().Lost(); lost > 0 {
				try.Do(fmt.Errorf("%d of %d older connections lost", lost, asksBeside))
			}
			return got.Served()
		},
	}
}

// crowdFlood asks a member for a follower's places from many ports, with the followers' key, while a follower of another host goes on, and then begins anew.
func crowdFlood() Flood {
	var f *Follower
	return Flood{
		Name: fmt.Sprintf("followers' key, %d ports of one host, invented connections", crowdPorts),
		open: func(host *lab.Host) (g *Group, err error) {
			if f, err = OpenFollower(host, FollowerConfig{Signed: true}); err != nil {
				return nil, err
			}
			return f.Group, f.Begin(len(f.Members()))
		},
		begin: func(g *Group, holder *lab.Node) func() int {
			return try.Get(g.Lab.StartSubscribers(lab.SubscribersConfig{
				Member: netip.AddrPortFrom(holder.Address, membersPort), Group: g.Addresses[0], KeyFile: f.key, User: unprivileged, Ports: crowdPorts, Connections: 7,
			})).Stop
		},
		beside: func(*Group, *lab.Node, int) int {
			got := try.Get(f.SampleFrom(asksBeside))
			try.Do(f.told()) // the one that was there before
			try.Do(f.Process.Kill9())
			try.Get(f.Process.Wait(2 * time.Second))
			try.Do(f.comes())
			return got.Served()
		},
	}
}

// comes begins to follow, and waits until all members tell the worker who they are.
func (f *Follower) comes() (err error) {
	defer try.Catch(&err)
	try.Do(f.Begin(len(f.Members())))
	return insist(SettleLimit, 3*time.Millisecond, f.told)
}

// told fails where the members do not tell the worker who they are.
func (f *Follower) told() error {
	s, err := f.Status()
	if err == nil && (len(s.Follows) == 0 || len(s.Follows[0].By) != len(f.Members()) || s.used(len(f.Addresses)) != len(f.Members())) {
		err = fmt.Errorf("trial: a follower of another host is not told: %s", s.text())
	}
	return err
}

// placesFlood takes all places of a member, with the followers' key, from as many addresses of one host as that takes, and invents connections from each.
// Then the first honest follower comes, and an operator drains that member and waits.
func placesFlood() Flood {
	var f *Follower
	var flooded *lab.Node
	return Flood{
		Name:   "followers' key, all places of a member from many addresses, invented connections",
		Config: Config{Interval: 100 * time.Millisecond}, // of the bench: it takes a machine of its own to fill all places within a minute
		open: func(host *lab.Host) (g *Group, err error) {
			if f, err = OpenFollower(host, FollowerConfig{Signed: true}); err != nil {
				return nil, err
			}
			return f.Group, nil
		},
		begin: func(g *Group, holder *lab.Node) func() int {
			flooded = f.Members()[holder.ID%len(f.Members())]
			room := try.Get(followersRoom(flooded))
			k := try.Get(g.Lab.StartSubscribers(lab.SubscribersConfig{
				Member: netip.AddrPortFrom(flooded.Address, membersPort), Group: g.Addresses[0], KeyFile: f.key, User: unprivileged,
				Addresses: room.FollowerPlaces/portsOfEach + 1, Ports: portsOfEach, Connections: 7,
			}))
			err := within(SettleLimit, "all places are taken", func() bool {
				time.Sleep(500 * time.Millisecond) // the answer lists all of them
				now, err := followersRoom(flooded)
				room = now
				return err == nil && room.FollowersFull
			})
			if err != nil {
				k.Stop()
				try.Do(fmt.Errorf("%w: %+v", err, room))
			}
			return k.Stop
		},
		beside: func(*Group, *lab.Node, int) int {
			try.Do(f.comes())
			got := try.Get(f.SampleFrom(asksBeside))
			try.Do(f.product.order(flooded, "drain", "--wait", "--timeout", "10s"))
			if !strings.Contains(f.Daemon(flooded).Log(), "KV386") {
				try.Do(errors.New("trial: nobody says that connections are invented"))
			}
			return got.Served()
		},
	}
}

// portsOfEach is from how many ports each address asks for a place: it gets as many.
const portsOfEach = 16

// followersRoom is how many followers a member has places for, and whether all are taken.
func followersRoom(n *lab.Node) (room struct {
	FollowerPlaces int  `json:"followerPlaces"`
	FollowersFull  bool `json:"followersFull"`
}, err error,
) {
	s := struct {
		VIPs []struct{ Spread json.RawMessage }
	}{}
	if err = askStatus(n, answerLimit, &s); err == nil && len(s.VIPs) > 0 {
		err = json.Unmarshal(s.VIPs[0].Spread, &room)
	}
	if err == nil && room.FollowerPlaces == 0 {
		err = fmt.Errorf("trial: %s says nothing of places for followers", n.Label)
	}
	return room, err
}

// running are the nodes that have a daemon.
func (g *Group) running() []*lab.Node {
	return slices.DeleteFunc(slices.Clone(g.Lab.Nodes), func(n *lab.Node) bool { return g.Daemon(n) == nil })
}
