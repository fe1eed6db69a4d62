package trial

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
	"github.com/keepvip/keepvip/vrrp"
)

// Role is a node's part in an exchange.
type Role int

// The roles.
const (
	Holder Role = iota // gives the address away
	Taker              // is to have it
)

// String is "holder" or "taker".
func (r Role) String() string { return [...]string{"holder", "taker"}[r] }

// Mishap is what goes wrong while the address is passed on: nodes whose daemon is killed, nodes that are cut off for a while,
// and messages that the switch drops.
type Mishap struct {
	Name string
	When Moment
	Late time.Duration // after that moment
	Kill []Role
	Cut  []Role
	Lose *Loss
	// Plain tells that plain VRRP has to move the address from a holder that lives: both answer until it has heard the other.
	Plain bool
}

// Loss is what the switch drops of what a node says.
type Loss struct {
	By    Role
	First bool     // the first frame of each alone
	Match []string // nftables expressions
}

// cutFor is how long a node is cut off: long enough for it and the others to take the address.
const cutFor = 1500 * time.Millisecond

// membersMessage is an nftables expression for messages of one type: the sixth octet behind the UDP header.
func membersMessage(kind int) string {
	return fmt.Sprintf("udp dport %d @th,104,8 %d", membersPort, kind)
}

// Mishaps are what may go wrong at each step.
func Mishaps() []Mishap {
	var all []Mishap
	for _, when := range Moments() {
		all = append(all, Mishap{Name: "the taker is killed " + when.String(), When: when, Kill: []Role{Taker}, Plain: when < Granted})
	}
	for _, when := range []Moment{Unfit, Asked, Granted} {
		all = append(all, Mishap{Name: "the holder is killed " + when.String(), When: when, Kill: []Role{Holder}})
	}
	for _, when := range []Moment{Asked, Granted, Advertised} {
		all = append(
			all,
			Mishap{Name: "both are cut off " + when.String(), When: when, Cut: []Role{Holder, Taker}},
			Mishap{Name: "the taker is cut off " + when.String(), When: when, Cut: []Role{Taker}},
			Mishap{Name: "the holder is cut off " + when.String(), When: when, Cut: []Role{Holder}},
		)
	}
	return append(all, losses()...)
}

func losses() []Mishap {
	const announcements = "ether daddr { ff:ff:ff:ff:ff:ff, 33:33:00:00:00:01 }"
	return []Mishap{
		{Name: "the first REQUEST is lost", When: Asked, Lose: &Loss{By: Taker, First: true, Match: []string{membersMessage(2)}}},
		{Name: "every REQUEST is lost", When: Asked, Plain: true, Lose: &Loss{By: Taker, Match: []string{membersMessage(2)}}},
		{Name: "the first GRANT is lost", When: Granted, Lose: &Loss{By: Holder, First: true, Match: []string{membersMessage(3)}}},
		{Name: "every GRANT is lost", When: Granted, Lose: &Loss{By: Holder, Match: []string{membersMessage(3)}}},
		{Name: "the first advertisement is lost", When: Advertised, Lose: &Loss{By: Taker, First: true, Match: []string{"meta l4proto 112"}}},
		{Name: "the first announcement is lost", When: Announced, Lose: &Loss{By: Taker, First: true, Match: []string{
			"arp operation request arp saddr ip " + lab.VIP4.String(), "arp operation reply ether daddr ff:ff:ff:ff:ff:ff", "icmpv6 type nd-neighbor-advert ether daddr 33:33:00:00:00:01",
		}}},
		{Name: "every announcement is lost for 250 ms", When: Granted, Late: 250 * time.Millisecond, Lose: &Loss{By: Taker, Match: []string{announcements}}},
		{Name: "every HELLO of the taker is lost", When: Taken, Lose: &Loss{By: Taker, Match: []string{membersMessage(1)}}},
	}
}

// passing is an exchange that goes wrong.
type passing struct {
	g      *Group
	m      Mishap
	nodes  [2]*lab.Node // by role
	healed time.Duration
	missed error // the exchange did not come as far as the mishap
}

// Fault hands the address over, to a node that is named, and lets it go wrong. The result counts from the mishap on.
func (m Mishap) Fault(g *Group) (*Result, error) {
	return atTheHolder(func() (*Result, error) { return m.fault(g) })
}

func (m Mishap) fault(g *Group) (_ *Result, err error) {
	defer try.Catch(&err)
	x := &passing{g: g, m: m}
	cfg := g.everywhere()
	cfg.AskEvery = 5 * time.Millisecond
	res, err := g.run(m.Name, cfg, x.run)
	if x.nodes[Holder] == nil {
		return res, err
	}
	try.Do(errors.Join(err, x.repair()))
	if x.missed != nil && res.Report.Silences(0) == 0 { // else a holder was late, and the address has moved without the exchange
		return nil, x.missed
	}
	end := res.Report.Ended
	if x.healed > 0 {
		end = x.healed
	}
	res.Recovered = res.recovered(end, m.Plain)
	res.Finders = res.Report.DiscoveryTwoIn(res.FaultAt, end)
	res.Healing = res.Report.DiscoveryTwoIn(end, res.Report.Ended)
	// From the mishap to the end, whatever happens in between.
	res.Stall = res.Report.StallIn(res.FaultAt-100*time.Millisecond, res.Report.Ended)
	return res, nil
}

// recovered is how long it took until the clients were answered for good, as far as they asked before the end. A short outage is that
// of a node which takes the address from one that lives; it is only logged.
func (r *Result) recovered(end time.Duration, plain bool) time.Duration {
	short := 20 * time.Millisecond
	if plain {
		// The holder hears, the taker binds and announces, the clients learn: none of the four is reported below 10 ms.
		short = 40 * time.Millisecond
	}
	var last time.Duration
	for _, s := range r.Report.Streams {
		for _, o := range s.Outages {
			if o.End > r.FaultAt && o.At < end && o.Length > short {
				last = max(last, o.End-r.FaultAt)
			}
		}
	}
	return last
}

// run is the fault, which catches its steps.
func (x *passing) run(m *lab.Measurement, holder *lab.Node) time.Duration {
	g := x.g
	x.nodes = [2]*lab.Node{Holder: holder, Taker: g.Lab.Nodes[holder.ID%len(g.Lab.Nodes)]}
	if l := x.m.Lose; l != nil {
		lose := x.nodes[l.By].LoseAll
		if l.First {
			lose = x.nodes[l.By].LoseFirst
		}
		try.Do(lose(lab.Out, l.Match...))
	}
	wire := try.Get(g.Lab.Trip(func(s lab.RecordedFrame) bool {
		return x.m.When.is(s, holder, x.nodes[Taker], g.Addresses[0])
	}, x.happen))
	over := make(chan error, 1)
	go func() { over <- x.handover(m) }()
	at, err := wire.Wait(3 * time.Second)
	if at == 0 {
		x.missed = fmt.Errorf("%w: %w", err, <-over)
		return m.Mark("the exchange has not come as far: %s", x.m.When)
	}
	if err != nil {
		try.Do(fmt.Errorf("%w: %w", err, <-over))
	}
	m.MarkAt(at, "%s", x.m.Name)
	err = x.await(m)
	<-over // what it returns depends on the mishap; that it ended does not
	try.Do(err)
	return at
}

// handover runs the command. It returns what was said as an error in any case.
func (x *passing) handover(m *lab.Measurement) (err error) {
	defer try.Catch(&err)
	holder, taker := x.nodes[Holder], x.nodes[Taker]
	m.Mark("%s hands over to %s", holder.Label, taker.Label)
	p, code := try.Two(Keepvip{}.Command(holder, "handover", "--timeout", "3s", "--to", taker.Address.String(), "--socket", Socket(holder)))
	return fmt.Errorf("trial: keepvip handover on %s: exit status %d: %s", holder.Label, code, p.Log())
}

// happen is the mishap. Lost messages are lost already.
func (x *passing) happen() (err error) {
	defer try.Catch(&err)
	if x.m.Late > 0 {
		ts := unix.NsecToTimespec(x.m.Late.Nanoseconds())
		_ = unix.Nanosleep(&ts, nil)
	}
	for _, r := range x.m.Kill {
		try.Do(x.g.Daemon(x.nodes[r]).Signal(unix.SIGKILL))
	}
	for _, r := range x.m.Cut {
		try.Get(x.nodes[r].CutPort())
	}
	if x.m.Late > 0 && x.m.Lose != nil {
		return x.nodes[x.m.Lose.By].LoseNothing()
	}
	return nil
}

// await lets the group find its way.
func (x *passing) await(m *lab.Measurement) error {
	if len(x.m.Cut) == 0 {
		time.Sleep(x.g.span() + 700*time.Millisecond)
		return nil
	}
	time.Sleep(cutFor)
	x.healed = m.Mark("the network is whole again")
	err := x.heal()
	time.Sleep(x.g.span())
	return err
}

func (x *passing) heal() error {
	var errs []error
	for _, r := range x.m.Cut {
		_, err := x.nodes[r].HealPort()
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// repair makes the group whole again: also when the exchange never came so far.
func (x *passing) repair() error {
	errs := []error{x.heal()}
	if x.m.Lose != nil {
		errs = append(errs, x.nodes[x.m.Lose.By].LoseNothing())
	}
	for _, n := range x.nodes {
		if !x.g.Daemon(n).Alive() {
			errs = append(errs, x.g.Start(n))
		}
	}
	return errors.Join(errs...)
}

// RandomMishap kills or cuts off one or both of the nodes, at any moment from the beginning of the exchange until it is long over.
func RandomMishap(g *Group) (*Result, error) {
	const longest = 100 * time.Millisecond
	m := Mishap{When: Unfit, Late: rand.N(longest), Plain: true}
	roles := [][]Role{{Holder}, {Taker}, {Holder, Taker}}
	who := roles[rand.IntN(len(roles))]
	what := "cut off"
	if rand.IntN(2) == 0 && len(who) == 1 {
		m.Kill, what = who, "killed"
	} else {
		m.Cut = who
	}
	m.Name = fmt.Sprintf("%s %s %s ms after the unfit HELLO", map[int]string{1: "the " + who[0].String(), 2: "both"}[len(who)], what, lab.Milliseconds(m.Late))
	return m.Fault(g)
}

// Moment is a step of the exchange by which the address is passed on: when the switch sees what stands for it.
type Moment int

// The moments, in order.
const (
	Unfit      Moment = iota // the holder's HELLO says that it wants to give the address away
	Asked                    // the taker's REQUEST
	Granted                  // the holder's GRANT
	Advertised               // the taker's first advertisement
	Announced                // the taker's first announcement
	Taken                    // the taker's HELLO says that it is Active
)

// Moments are all of them.
func Moments() []Moment { return []Moment{Unfit, Asked, Granted, Advertised, Announced, Taken} }

// String names it in a sentence that begins with what happens then.
func (m Moment) String() string {
	return [...]string{"at the unfit HELLO", "at the REQUEST", "at the GRANT", "at the first advertisement", "at the announcement", "at the active HELLO"}[m]
}

// is tells whether a frame is that moment, in the exchange between two nodes.
func (m Moment) is(s lab.RecordedFrame, holder, taker *lab.Node, vip netip.Addr) bool {
	switch m {
	case Advertised:
		return s.Node == taker.ID && s.Advertises()
	case Announced:
		return s.Node == taker.ID && s.Announces(vip)
	}
	_, content := s.Datagram(membersPort)
	if content == nil {
		return false
	}
	said, err := unsealed(content)
	if err != nil {
		return false
	}
	switch m {
	case Unfit:
		return s.Node == holder.ID && said.Type == members.Hello && said.Peer.State == vrrp.Active && !said.Peer.Fit
	case Asked:
		return s.Node == taker.ID && said.Type == members.Request
	case Granted:
		return s.Node == holder.ID && said.Type == members.Grant
	}
	return s.Node == taker.ID && said.Type == members.Hello && said.Peer.State == vrrp.Active
}
