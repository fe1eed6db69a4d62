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
			source, content := f.Datagram(membersPort)
			frames = append(frames, g.Lab.Client.ForgeUDP(netip.AddrPortFrom(source, envelope.SourcePort), membersPort, content))
		}
		return frames, err
	}
	holder := try.Get(g.Settle())
	other := g.Lab.Nodes[holder.ID%len(g.Lab.Nodes)]
	known := map[int]members.Message{}
	try.Do(within(SettleLimit, fmt.Sprintf("%s and %s say HELLO", holder.Label, other.Label), func() bool {
		for _, f := range try.Get(g.overheard(func() error { time.Sleep(1500 * time.Millisecond); return nil })) {
			_, content := f.Datagram(membersPort)
			if m, err := unsealed(content); err == nil {
				known[f.Node] = m
			}
		}
		return known[holder.ID].Type != 0 && known[other.ID].Type != 0
	}))
	h, o := known[holder.ID], known[other.ID]
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
