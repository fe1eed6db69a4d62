package dhcp

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/code"
)

var (
	vip    = netip.MustParseAddr("10.77.0.100")
	other  = netip.MustParseAddr("10.77.0.150")
	server = netip.MustParseAddr("10.77.0.1")
	via    = net.HardwareAddr{2, 0, 0, 0, 0, 1}
	epoch  = time.Unix(1_000_000, 0)
	client = []byte("\x00keepvip-10.77.0.100")
)

// talk is a Keeper, its time, and what it has said last.
type talk struct {
	*Keeper
	t    *testing.T
	now  time.Time
	last Outgoing
}

func begin(t *testing.T) *talk {
	return &talk{Keeper: NewKeeper(vip, client, rand.New(rand.NewPCG(1, 2)), epoch), t: t, now: epoch}
}

// says goes to the next word, and tells what it is, as in "DISCOVER 10.77.0.100".
func (k *talk) says() string {
	k.t.Helper()
	for range 9 {
		require.False(k.t, k.Next().IsZero(), "nothing is to be said any more")
		if k.Next().After(k.now) {
			k.now = k.Next()
		}
		if out, ok := k.Due(k.now); ok {
			k.last = out
			return text(out)
		}
	}
	k.t.Fatal("it is due, and nothing is said")
	return ""
}

func text(m Outgoing) string {
	s := map[Type]string{Discover: "DISCOVER", Request: "REQUEST"}[m.Type]
	if m.Requested.IsValid() {
		s += " " + m.Requested.String()
	}
	if m.Client.IsValid() {
		s += " from " + m.Client.String()
	}
	if m.Server.IsValid() {
		s += " of " + m.Server.String()
	}
	if m.To.IsValid() {
		s += " to " + m.To.String() + " by " + m.Via.String()
	}
	return s
}

// hears takes an answer to its last word.
func (k *talk) hears(kind Type, your netip.Addr) { k.hearsAll(Message{Type: kind, Your: your}) }

func (k *talk) hearsAll(m Message) {
	m.XID, m.Server = k.last.XID, server
	if m.Type == ACK && m.Lease == 0 {
		m.Lease = time.Hour
	}
	k.Heard(k.now, Reply{m, via})
}

// after tells for how long it has been silent, within the jitter.
func (k *talk) after(want time.Duration, since time.Time) {
	k.t.Helper()
	assert.InDelta(k.t, want, k.Next().Sub(since), float64(unsure))
}

func (k *talk) wrong(why code.Code, problem string) {
	k.t.Helper()
	said, c := k.Problem()
	assert.Equal(k.t, problem, said)
	assert.Equal(k.t, why, c)
}

// RFC 2131 section 4.4.2: a client that knows its address asks for it again.
func TestKeeperGoesOnWithALeaseOfAnotherNode(t *testing.T) {
	k := begin(t)
	assert.Equal(t, "REQUEST 10.77.0.100", k.says())
	assert.Equal(t, client, k.last.ClientID)
	k.now = k.now.Add(time.Second)
	k.hears(ACK, vip)
	assert.Equal(t, bound, k.state)
	assert.Equal(t, server, k.Lease().Server)
	assert.Equal(t, epoch.Add(time.Hour), k.Lease().Expires, "from the moment of the request on")
	k.after(30*time.Minute, epoch)
	k.wrong("", "")
}

// RFC 2131 sections 4.4.1 and 4.1.
func TestKeeperAsksForAnOfferWhereNoServerKnowsALease(t *testing.T) {
	k := begin(t)
	k.says()
	k.after(firstWait, k.now)
	assert.Equal(t, "REQUEST 10.77.0.100", k.says())
	k.after(2*firstWait, k.now)
	first := k.last.XID
	assert.Equal(t, "DISCOVER 10.77.0.100", k.says())
	assert.NotEqual(t, first, k.last.XID)
	began, number := k.now, k.last.XID
	k.now = k.now.Add(3 * time.Second)
	k.hears(Offer, vip)
	assert.Equal(t, "REQUEST 10.77.0.100 of 10.77.0.1", k.says())
	assert.Equal(t, number, k.last.XID)
	assert.Equal(t, uint16(3), k.last.Secs)
	assert.Equal(t, began.Add(3*time.Second), k.now)
	k.hears(ACK, vip)
	assert.Equal(t, bound, k.state)
}

// RFC 2131 section 4.4.5.
func TestKeeperRenewsAndRebinds(t *testing.T) {
	k := begin(t)
	k.says()
	k.hears(ACK, vip)
	assert.Equal(t, "REQUEST from 10.77.0.100 to 10.77.0.1 by "+via.String(), k.says())
	assert.Equal(t, renewing, k.state)
	renewed := k.now
	k.hears(ACK, vip)
	k.after(30*time.Minute, renewed)
	end := k.Lease().Expires
	assert.Equal(t, renewed.Add(time.Hour), end)

	words := map[state]int{}
	for {
		k.says()
		if words[k.state]++; k.state == rebooting {
			break
		}
		require.False(t, k.now.After(end))
		if k.state == rebinding {
			assert.Equal(t, "REQUEST from 10.77.0.100", text(k.last))
		}
	}
	assert.Equal(t, map[state]int{renewing: 6, rebinding: 4, rebooting: 1}, words, "each time half of what is left, and a minute at least")
	assert.Equal(t, end, k.now)
	k.wrong(code.LeaseUnanswered, "the lease of 10.77.0.1 has ended, and nobody has renewed it")
	k.hears(ACK, vip)
	k.wrong("", "")
}

// A process that stood still for longer than its lease learns that from the time alone.
func TestKeeperThatWakesAfterItsLease(t *testing.T) {
	k := begin(t)
	k.says()
	k.hears(ACK, vip)
	k.now = k.now.Add(2 * time.Hour)
	assert.Equal(t, "REQUEST 10.77.0.100", k.says())
	assert.Equal(t, rebooting, k.state)
}

func TestKeeperSaysThatNobodyAnswersAndGoesOnAsking(t *testing.T) {
	k := begin(t)
	for range rebootTries + silentTries {
		k.says()
		k.wrong("", "")
	}
	for range 5 {
		assert.Equal(t, "DISCOVER 10.77.0.100", k.says())
		k.wrong(code.LeaseUnanswered, "no DHCP server answers")
	}
	k.after(mostWait, k.now)
}

func TestKeeperThatIsRefusedAsksLessAndLess(t *testing.T) {
	k := begin(t)
	k.says()
	k.hearsAll(Message{Type: NAK, Text: "wrong\naddress"})
	k.wrong(code.LeaseRefused, `the DHCP server 10.77.0.1 refuses the lease: "wrong\naddress"`)
	assert.Equal(t, "DISCOVER 10.77.0.100", k.says(), "at the same moment")
	assert.Equal(t, epoch, k.now)
	for _, pause := range []time.Duration{1, 2, 4, 8, 16, 16} {
		k.hears(Offer, other)
		k.now = k.Next() // another server may have a better offer until then
		_, said := k.Due(k.now)
		require.False(t, said)
		k.wrong(code.LeaseRefused, "the DHCP server 10.77.0.1 offers 10.77.0.150 in place of this address")
		k.after(pause*time.Minute, k.now)
		assert.Equal(t, "DISCOVER 10.77.0.100", k.says())
	}
	k.hears(Offer, other)
	k.hears(Offer, vip)
	assert.Equal(t, "REQUEST 10.77.0.100 of 10.77.0.1", k.says())
	k.hears(ACK, vip)
	k.wrong("", "")

	k.says()
	k.hears(NAK, vip)
	assert.Equal(t, k.now, k.Next(), "what was before the lease counts no more")
}

func TestKeeperNeverTakesAnotherAddress(t *testing.T) {
	for name, words := range map[string]int{"rebooting": 1, "renewing": 2} {
		t.Run(name, func(t *testing.T) {
			k := begin(t)
			k.says()
			for range words - 1 {
				k.hears(ACK, vip)
				k.says()
			}
			k.hears(ACK, other)
			k.wrong(code.LeaseRefused, "the DHCP server 10.77.0.1 gives 10.77.0.150 in place of this address")
			assert.Zero(t, k.Lease())
			assert.Equal(t, "DISCOVER 10.77.0.100", k.says())
		})
	}
}

func TestKeeperLeavesOutWhatIsForOthers(t *testing.T) {
	for name, change := range map[string]func(*Reply){
		"another number":            func(r *Reply) { r.XID++ },
		"another client identifier": func(r *Reply) { r.ClientID = []byte{0, 'x'} },
		"an offer to a request":     func(r *Reply) { r.Type = Offer },
		"a lease without a time":    func(r *Reply) { r.Lease = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			k := begin(t)
			k.says()
			r := Reply{Message{Type: ACK, XID: k.last.XID, Your: vip, Server: server, Lease: time.Hour}, via}
			change(&r)
			k.Heard(k.now, r)
			assert.Equal(t, rebooting, k.state)
			assert.Zero(t, k.Lease())
		})
	}
}

func TestKeeperWithAnOfferThatCountsForNothing(t *testing.T) {
	k := begin(t)
	for range rebootTries + 1 {
		k.says()
	}
	k.hears(Offer, vip)
	for range requestTries {
		assert.Equal(t, "REQUEST 10.77.0.100 of 10.77.0.1", k.says())
	}
	assert.Equal(t, "DISCOVER 10.77.0.100", k.says())
	k.wrong(code.LeaseUnanswered, "the DHCP server 10.77.0.1 offers this address, and then does not answer")
}

// RFC 2131 sections 3.3 and 4.4.5: what a server says of the times, and what it cannot mean.
func TestKeeperGoesByTheTimesOfTheServer(t *testing.T) {
	for _, c := range []struct {
		lease, t1, t2, want time.Duration // want: the renewal
	}{
		{lease: time.Hour, want: 30 * time.Minute},
		{lease: time.Hour, t1: 10 * time.Minute, t2: 50 * time.Minute, want: 10 * time.Minute},
		{lease: time.Hour, t1: 50 * time.Minute, t2: 10 * time.Minute, want: 30 * time.Minute},
		{lease: time.Hour, t1: 10 * time.Minute, t2: 2 * time.Hour, want: 30 * time.Minute},
		{lease: time.Second, want: leastLease / 2},
		{lease: time.Hour, t1: time.Second, t2: 2 * time.Second, want: 30 * time.Minute},
	} {
		t.Run(fmt.Sprintf("%v %v %v", c.lease, c.t1, c.t2), func(t *testing.T) {
			k := begin(t)
			k.says()
			k.hearsAll(Message{Type: ACK, Your: vip, Lease: c.lease, T1: c.t1, T2: c.t2})
			k.after(c.want, epoch)
		})
	}
	k := begin(t)
	k.says()
	k.hearsAll(Message{Type: ACK, Your: vip, Lease: infinite})
	assert.Zero(t, k.Next(), "never")
	assert.Zero(t, k.Lease().Expires)
}
