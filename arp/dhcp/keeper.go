package dhcp

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strconv"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
)

// state is that of a client (RFC 2131 section 4.4). There is no INIT: the address is known.
type state uint8

// The states.
const (
	rebooting  state = iota // INIT-REBOOT, and REBOOTING: this client asks whether the lease goes on
	selecting               // no server knows of a lease
	requesting              // a server offers one
	bound
	renewing  // since T1, by a word to the server of the lease
	rebinding // since T2, by a word to all servers
)

const (
	firstWait = 4 * time.Second // until a word without an answer is repeated (RFC 2131 section 4.1)
	mostWait  = 64 * time.Second
	unsure    = time.Second // by which a wait may be shorter, or longer

	rebootTries  = 2 // until no server knows of a lease
	requestTries = 3 // until an offer counts for nothing
	silentTries  = 3 // words to all servers, until none is there

	leastRepeat = time.Minute // in renewing and rebinding (RFC 2131 section 4.4.5)
	leastLease  = 20 * time.Second

	firstPause = 30 * time.Second // until a server is asked again that has refused
	mostPause  = 16 * time.Minute
)

// Lease is what a server has granted; the zero Lease is none.
type Lease struct {
	Server  netip.Addr
	Since   time.Time // when it was granted last
	Expires time.Time // zero: never

	t1, t2 time.Time
	via    net.HardwareAddr // that the server's answer came from
}

// Reply is a message as it was heard, with the hardware address that it came from.
type Reply struct {
	Message
	Via net.HardwareAddr
}

// Outgoing is a message to the server To, by way of Via; without To to all of them.
type Outgoing struct {
	Message
	To  netip.Addr
	Via net.HardwareAddr
}

// Keeper keeps the lease of one address. It belongs to one goroutine, and only its arguments tell it the time.
type Keeper struct {
	address  netip.Addr
	clientID []byte
	random   *rand.Rand

	state   state
	xid     uint32
	began   time.Time // the asking
	sent    time.Time // the first word of this state
	tries   int       // words of this state
	next    time.Time // zero: nothing is to be said by itself
	offerer netip.Addr
	other   string // what a server offers in place of the address
	refused int    // times in a row
	lease   Lease

	problem string
	why     code.Code
}

// NewKeeper makes one that asks at now, as a client that starts anew: a lease may go on that another node has kept.
func NewKeeper(address netip.Addr, clientID []byte, random *rand.Rand, now time.Time) *Keeper {
	k := &Keeper{address: address, clientID: clientID, random: random}
	k.ask(rebooting, now)
	return k
}

// Lease is the present one.
func (k *Keeper) Lease() Lease { return k.lease }

// Problem is why there is no lease, or why it may end; empty: nothing is wrong as far as is known.
func (k *Keeper) Problem() (string, code.Code) { return k.problem, k.why }

// Next is when Due has something to say; zero: never.
func (k *Keeper) Next() time.Time { return k.next }

// ask begins another state with its first word at that time.
func (k *Keeper) ask(s state, at time.Time) {
	if s != requesting { // which answers an offer, and has its number
		k.xid = k.random.Uint32()
	}
	if s != requesting && s != rebinding {
		k.began = time.Time{}
	}
	k.state, k.tries, k.next, k.other = s, 0, at, ""
}

// Due is what to say at now, if anything.
func (k *Keeper) Due(now time.Time) (Outgoing, bool) {
	if k.next.IsZero() || now.Before(k.next) || !k.proceed(now) {
		return Outgoing{}, false
	}
	if k.tries++; k.tries == 1 {
		k.sent = now
	}
	if k.began.IsZero() {
		k.began = now
	}
	k.next = now.Add(k.wait(now))
	return k.say(now), true
}

// proceed goes to the next state where this one is over. It is false where nothing is to be said yet.
func (k *Keeper) proceed(now time.Time) bool {
	switch ends := k.lease.Expires; {
	case !ends.IsZero() && !now.Before(ends):
		k.complain(code.LeaseUnanswered, "the lease of "+k.lease.Server.String()+" has ended, and nobody has renewed it")
		k.lease = Lease{}
		k.ask(rebooting, now)
	case k.state == bound:
		k.ask(renewing, now)
	}
	switch {
	case k.state == renewing && !now.Before(k.lease.t2):
		k.ask(rebinding, now)
	case k.state == rebooting && k.tries == rebootTries:
		k.ask(selecting, now)
	case k.state == requesting && k.tries == requestTries:
		k.complain(code.LeaseUnanswered, "the DHCP server "+k.offerer.String()+" offers this address, and then does not answer")
		k.ask(selecting, now)
	case k.state == selecting && k.other != "":
		k.refuse(now, k.other)
		return false
	case k.state == selecting && k.tries == silentTries:
		k.complain(code.LeaseUnanswered, "no DHCP server answers")
	}
	return true
}

func (k *Keeper) complain(why code.Code, problem string) { k.problem, k.why = problem, why }

// refuse waits the longer the more often servers have refused. A lease that has gone wrong is asked for anew first, without a wait.
func (k *Keeper) refuse(now time.Time, problem string) {
	k.complain(code.LeaseRefused, problem)
	k.lease = Lease{}
	at := now
	if k.refused > 0 || k.state == selecting {
		at = now.Add(min(firstPause<<min(k.refused, 8), mostPause) + k.jitter())
	}
	k.refused++
	k.ask(selecting, at)
}

func (k *Keeper) jitter() time.Duration {
	return time.Duration(k.random.Int64N(int64(2*unsure)+1)) - unsure
}

// wait is for how long an answer may take.
func (k *Keeper) wait(now time.Time) time.Duration {
	until := k.lease.t2
	switch k.state {
	case rebinding:
		until = k.lease.Expires
		fallthrough
	case renewing:
		left := until.Sub(now)
		return min(max(left/2, leastRepeat), left)
	}
	return min(firstWait<<min(k.tries-1, 8), mostWait) + k.jitter()
}

// say is the word of the present state (RFC 2131 sections 4.3.2 and 4.4.1).
func (k *Keeper) say(now time.Time) Outgoing {
	m := Message{Type: Request, XID: k.xid, Secs: uint16(min(now.Sub(k.began)/time.Second, 1<<16-1)), ClientID: k.clientID}
	switch k.state {
	case selecting:
		m.Type, m.Requested = Discover, k.address
	case requesting:
		m.Requested, m.Server = k.address, k.offerer
	case rebooting:
		m.Requested = k.address
	case renewing:
		m.Client = k.address
		return Outgoing{Message: m, To: k.lease.Server, Via: k.lease.via}
	case rebinding:
		m.Client = k.address
	}
	return Outgoing{Message: m}
}

// Heard takes in what a server says. What is for another client, or comes too late, changes nothing.
func (k *Keeper) Heard(now time.Time, r Reply) {
	foreign := len(r.ClientID) > 0 && !bytes.Equal(r.ClientID, k.clientID) // servers give it back (RFC 6842)
	if r.XID != k.xid || k.tries == 0 || foreign {
		return
	}
	switch {
	case k.state == selecting && r.Type == Offer && r.Server.IsValid():
		k.offered(now, r)
	case k.state == selecting || k.state == bound:
	case r.Type == NAK:
		text := ""
		if r.Text != "" {
			text = ": " + strconv.QuoteToASCII(r.Text)
		}
		k.refuse(now, named(r)+" refuses the lease"+text)
	case r.Type == ACK && r.Your != k.address:
		k.refuse(now, fmt.Sprintf("%s gives %s in place of this address", named(r), r.Your))
	case r.Type == ACK && r.Lease > 0:
		k.granted(now, r)
	}
}

func named(r Reply) string {
	if r.Server.IsValid() {
		return "the DHCP server " + r.Server.String()
	}
	return "a DHCP server"
}

// offered takes an offer of the address. One of another address counts where there is no better one.
func (k *Keeper) offered(now time.Time, r Reply) {
	if r.Your != k.address {
		k.other = fmt.Sprintf("%s offers %s in place of this address", named(r), r.Your)
		return
	}
	k.offerer = r.Server
	k.ask(requesting, now)
}

// granted has a lease from the moment on in which it was asked for (RFC 2131 section 4.4.1).
func (k *Keeper) granted(now time.Time, r Reply) {
	k.complain("", "")
	k.refused = 0
	k.state, k.next = bound, time.Time{}
	server := r.Server
	if !server.IsValid() {
		server = k.lease.Server
	}
	k.lease = Lease{Server: server, Since: now, via: r.Via}
	if r.Lease == infinite {
		return
	}
	span := max(r.Lease, leastLease)
	t1, t2 := r.T1, r.T2
	if t1 < leastLease/2 || t2 < t1 || span < t2 {
		t1, t2 = span/2, span/8*7
	}
	k.lease.t1, k.lease.t2, k.lease.Expires = k.sent.Add(t1), k.sent.Add(t2), k.sent.Add(span)
	k.next = k.lease.t1.Add(k.jitter())
}
