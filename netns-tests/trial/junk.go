package trial

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/members/envelope"
	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
	"github.com/keepvip/keepvip/vrrp"
)

// Kinds of junk: packets that a router has to drop, however many there are.
const (
	JunkTTL      = "TTL"
	JunkLength   = "length"
	JunkChecksum = "checksum"
	JunkVersion  = "version"
	JunkList     = "disjoint list" // well made, but of another cluster with the same VRID
	JunkMixed    = "mixed"
)

// JunkKinds are all kinds but the mixture.
func JunkKinds() []string { return []string{JunkTTL, JunkLength, JunkChecksum, JunkVersion, JunkList} }

// junk makes the frames of one kind, with priority 255 and 0 where a router
// that took them for true would give way or take over.
func (g *Group) junk(kind string) [][]byte {
	if kind == JunkMixed {
		var frames [][]byte
		for _, k := range JunkKinds() {
			frames = append(frames, g.junk(k)...)
		}
		return frames
	}
	client := g.Lab.Client
	var frames [][]byte
	for _, priority := range []int{255, 0} {
		f := lab.Forgery{
			Source: client.Address, Version: 3, VRID: g.Settings[0].VRID, Priority: priority,
			Interval: g.Settings[0].Interval, Addresses: g.Addresses[:1],
		}
		switch kind {
		case JunkTTL:
			f.TTL = 254
		case JunkLength:
			f.Cut = 3
		case JunkChecksum:
			f.FlipSum = true
		case JunkVersion:
			f.Version = 4
		case JunkList:
			f.Addresses = []netip.Addr{netip.MustParseAddr("10.77.0.222")}
		}
		frames = append(frames, client.Forge(f))
	}
	return frames
}

// Junk floods the group from the client's host.
func Junk(kind string, perSecond int, length time.Duration) Fault {
	return func(g *Group) (*Result, error) {
		return g.flood("junk: "+kind, g.junk(kind), perSecond, length)
	}
}

// Forged has a stranger on the client's host advertise the address for a while, with the priority that wins against everybody.
func Forged(length time.Duration) Fault {
	return func(g *Group) (*Result, error) {
		client := g.Lab.Client
		interval := g.Settings[0].Interval
		frame := client.Forge(lab.Forgery{Source: client.Address, Version: 3, VRID: g.Settings[0].VRID, Priority: 255, Interval: interval, Addresses: g.Addresses})
		return g.flood("forged advertisements", [][]byte{frame}, int(time.Second/interval), length)
	}
}

// flood sends frames from the client's host for a while. The result's CPU is
// that of the busiest daemon meanwhile.
func (g *Group) flood(name string, frames [][]byte, perSecond int, length time.Duration) (_ *Result, err error) {
	defer try.Catch(&err)
	var cpu float64
	var sent int
	res := try.Get(g.run(name, lab.MeasureConfig{}, func(m *lab.Measurement, _ *lab.Node) (_ time.Duration, err error) {
		defer try.Catch(&err)
		at := m.Mark("%s: begins", name)
		flood := try.Get(g.Lab.Flood(g.Lab.Client, frames, perSecond))
		cpu = g.busiest(length)
		sent = flood.Stop()
		m.Mark("%s: ends", name)
		time.Sleep(g.span())
		return at, nil
	}))
	res.CPU = cpu
	res.addNote("%d packets", sent)
	return res, nil
}

// busiest waits, and is what the daemon that takes most does meanwhile, in per cent of a processor.
func (g *Group) busiest(length time.Duration) (percent float64) {
	before, began := g.cpu(), time.Now()
	time.Sleep(length)
	for i, after := range g.cpu() {
		percent = max(percent, float64(after-before[i])/float64(time.Since(began))*100)
	}
	return percent
}

// cpu is the processor time of every daemon so far, by node.
func (g *Group) cpu() []time.Duration {
	used := make([]time.Duration, len(g.Daemons))
	for i, p := range g.Daemons {
		if p != nil {
			used[i], _ = p.TreeCPU()
		}
	}
	return used
}

// Invented is what a flood of advertisements of ever new routers has brought about.
type Invented struct {
	Sent  int
	Lines int     // most that one node has logged meanwhile
	ARP   int     // most frames that one node has sent
	CPU   float64 // percent of one processor, of the busiest
	RSS   int64   // bytes, the most
}

// FloodInvented sends advertisements of a thousand routers that do not exist, 500 in a second.
func FloodInvented(g *Group, length time.Duration) (_ Invented, err error) {
	defer try.Catch(&err)
	var frames [][]byte
	for i := range 1000 {
		frames = append(frames, g.Lab.Client.Forge(lab.Forgery{
			Source:  netip.AddrFrom4([4]byte{10, 77, byte(4 + i>>8), byte(i)}),
			Version: 3, VRID: g.Settings[0].VRID, Priority: 100 + i%156, Interval: g.Settings[0].Interval, Addresses: g.Addresses[:1],
		}))
	}
	recording := try.Get(g.Lab.RecordARP())
	lines := g.lines()
	flood, err := g.Lab.Flood(g.Lab.Client, frames, 500)
	if err != nil {
		recording.Stop()
		return Invented{}, err
	}
	sent := Invented{CPU: g.busiest(length)}
	sent.Sent = flood.Stop()
	arp := map[int]int{}
	for _, f := range recording.Stop() {
		arp[f.Node]++
	}
	for i, p := range g.Daemons {
		rss, _ := p.RSS()
		sent.RSS = max(sent.RSS, rss)
		sent.Lines = max(sent.Lines, g.lines()[i]-lines[i])
		sent.ARP = max(sent.ARP, arp[g.Lab.Nodes[i].ID])
	}
	return sent, nil
}

// lines is how much every daemon has logged so far.
func (g *Group) lines() []int {
	n := make([]int, len(g.Daemons))
	for i, p := range g.Daemons {
		if p != nil {
			n[i] = bytes.Count([]byte(p.Log()), []byte("\n"))
		}
	}
	return n
}

// Keyed is keepvip with one shared key on all nodes.
type Keyed struct {
	Ahead []time.Duration // as in [Keepvip]
	Args  []string        // as there
}

func (Keyed) Name() string { return "keepvip" }

func (k Keyed) Start(n *lab.Node, s Settings) (_ *lab.Process, err error) {
	defer try.Catch(&err)
	path := try.Get(n.WriteFile("key", strings.Repeat("0123456789abcdef", 4)+"\n", 0o600))
	return Keepvip{Args: append([]string{"--key-file", path}, k.Args...), Ahead: k.Ahead}.Start(n, s)
}

// What an attacker on the link can send who has not the key.
const (
	ForgedOwner  = "forged priority 255"
	ForgedGiveUp = "forged priority 0"
	Replayed     = "replayed advertisements"
)

// Attacks are all of them.
func Attacks() []string { return []string{ForgedOwner, ForgedGiveUp, Replayed} }

// Attack sends forgeries, or advertisements that were captured before, a
// thousand in a second.
func Attack(kind string, length time.Duration) Fault {
	return func(g *Group) (_ *Result, err error) {
		defer try.Catch(&err)
		return g.flood(kind, try.Get(g.ammunition(kind)), 1000, length)
	}
}

// ammunition makes the frames of an attack. A better router is an attacker or
// another node, giving up is said in the holder's name. Those to replay were all
// valid once: the holder's, its priority 0 as it left, and the next holder's.
func (g *Group) ammunition(kind string) (_ [][]byte, err error) {
	defer try.Catch(&err)
	holder := try.Get(g.Settle())
	f := lab.Forgery{
		Version: 3, VRID: g.Settings[0].VRID, Priority: 255, Interval: g.Settings[0].Interval, Addresses: g.Addresses[:1],
	}
	switch kind {
	case ForgedOwner:
		other := g.Lab.Nodes[holder.ID%len(g.Lab.Nodes)]
		return [][]byte{forgeFrom(g, f, g.Lab.Client.Address), forgeFrom(g, f, other.Address)}, nil
	case ForgedGiveUp:
		f.Priority = 0
		return [][]byte{forgeFrom(g, f, holder.Address)}, nil
	}
	recording := try.Get(g.Lab.Record())
	_, err = Terminated(g)
	var frames [][]byte
	for _, f := range recording.Stop() {
		// A frame with a node's MAC would move that node at the switch: another attack.
		copy(f.Data[6:12], g.Lab.Client.MAC)
		frames = append(frames, f.Data)
	}
	return frames, err
}

func forgeFrom(g *Group, f lab.Forgery, source netip.Addr) []byte {
	f.Source = source
	return g.Lab.Client.Forge(f)
}

// membersPort is the default of the option port.
const membersPort = 9646

// What an attacker on the link can send to the members. He knows what the nodes say: nothing of it is secret.
const (
	ForgedRequest   = "forged REQUEST"   // of an invented node of high priority
	UsersRequest    = "a user's REQUEST" // the same, sent without a privilege on that host
	ForgedGrant     = "forged GRANT"     // in the holder's name
	ForgedHello     = "forged HELLO"     // the holder is unfit and gives the address away
	ForeignKey      = "another key"      // that REQUEST, with a code that another key has made
	ReplayedMembers = "replayed members" // all that was said during a handover
)

// AttackMembers sends messages of these kinds, a thousand in a second, over IPv4.
func AttackMembers(length time.Duration, kinds ...string) Fault {
	return func(g *Group) (_ *Result, err error) {
		defer try.Catch(&err)
		var frames [][]byte
		for _, kind := range kinds {
			frames = append(frames, try.Get(g.membersAmmunition(kind))...)
		}
		return g.flood(strings.Join(kinds, ", "), frames, 1000, length)
	}
}

func (g *Group) membersAmmunition(kind string) (_ [][]byte, err error) {
	defer try.Catch(&err)
	if kind == ReplayedMembers {
		recorded, err := g.overheard(func() error { _, err := Verb("handover")(g); return err })
		var frames [][]byte
		for _, f := range recorded {
			// Made anew: a node's MAC would move that node at the switch, and what veth carries has no checksum yet.
			source, content := lab.UDPOf(f.Data)
			frames = append(frames, g.Lab.Client.ForgeUDP(netip.AddrPortFrom(source, envelope.SourcePort), membersPort, content))
		}
		return frames, err
	}
	holder := try.Get(g.Settle())
	recorded := try.Get(g.overheard(func() error { time.Sleep(1500 * time.Millisecond); return nil }))
	known := map[int]members.Message{}
	for _, f := range recorded {
		_, content := lab.UDPOf(f.Data)
		if m, err := unsealed(content); err == nil {
			known[f.Node] = m
		}
	}
	other := g.Lab.Nodes[holder.ID%len(g.Lab.Nodes)]
	h, o := known[holder.ID], known[other.ID]
	if h.Type == 0 || o.Type == 0 {
		return nil, fmt.Errorf("trial: of %s and %s no HELLO was heard", holder.Label, other.Label)
	}
	source, m := g.forgedMessage(kind, holder, other, h, o)
	foreign := try.Get(members.NewKey(bytes.Repeat([]byte{7}, 32)))
	key := &foreign
	if kind != ForeignKey {
		key = nil
	}
	from := netip.AddrPortFrom(source, envelope.SourcePort)
	if kind == UsersRequest {
		from = netip.AddrPortFrom(source, membersPort)
	}
	var frames [][]byte
	for range 100 {
		if m.Transfer.Nonce > 0 && m.Type == members.Request {
			m.Transfer.Nonce++
		}
		frames = append(frames, g.Lab.Client.ForgeUDP(from, membersPort, try.Get(m.AppendSigned(nil, uint64(time.Now().UnixNano()), key, source))))
	}
	return frames, nil
}

// forgedMessage makes the message of an attack, and whose address it bears, from what the holder and another node have said.
func (g *Group) forgedMessage(kind string, holder, other *lab.Node, h, o members.Message) (netip.Addr, members.Message) {
	transfer := members.Transfer{To: holder.Address, Session: h.Session, Epoch: h.Peer.Epoch, Nonce: 1}
	switch kind {
	case ForgedGrant:
		h.Type, h.Peer.State = members.Grant, vrrp.Backup
		h.Transfer = members.Transfer{To: other.Address, Session: o.Session, Epoch: h.Peer.Epoch, Nonce: 1}
		return holder.Address, h
	case ForgedHello:
		h.Type, h.Peer.Fit, h.Peer.Priority = members.Hello, false, 1
		return holder.Address, h
	}
	o.Type, o.Session, o.Transfer = members.Request, 7, transfer
	o.Peer.Node, o.Peer.Priority, o.Peer.State, o.Peer.Fit = "attacker", 254, vrrp.Backup, true
	return g.Lab.Client.Address, o
}

// unsealed reads a message without asking who has made it.
func unsealed(b []byte) (members.Message, error) {
	m, _, err := members.Parse(b)
	return m, err
}

// overheard is what the members say meanwhile.
func (g *Group) overheard(meanwhile func() error) (_ []lab.RecordedFrame, err error) {
	defer try.Catch(&err)
	recording := try.Get(g.Lab.RecordUDP(membersPort))
	err = meanwhile()
	return recording.Stop(), err
}
