package lab

import (
	"encoding/binary"
	"errors"
	"math"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/bpf"
)

const ms = time.Millisecond

// spoken is a report of a script: "1 2 1" are answers of these nodes, one each 10 ms, "1! 1" an announcement and an answer of node 1, "-" nothing.
func spoken(script ...string) *Report {
	r := &Report{targets: []netip.Addr{VIP4}, Ended: time.Second}
	for i, s := range script {
		at, node := time.Duration(i)*10*time.Millisecond, int(s[0]-'0')
		if s == "-" {
			continue
		}
		if len(s) > 1 {
			r.Announcements = append(r.Announcements, Announcement{At: at, Node: node, Address: VIP4})
			continue
		}
		r.Answers = append(r.Answers, Answer{At: at, Node: node, Address: VIP4, Way: ByARP})
	}
	return r
}

func TestTwoAnswerWhereOneDoesBeforeMeanwhileAndAfter(t *testing.T) {
	for name, tt := range map[string]struct {
		script []string
		want   time.Duration // less the moment behind the last answer
	}{
		"one alone":                                     {[]string{"1", "1", "1"}, -1},
		"one after the other":                           {[]string{"1", "1", "2!", "2", "2"}, -1},
		"one after the other, without a word":           {[]string{"1", "1", "2", "2"}, -1},
		"in between, once":                              {[]string{"1", "2", "1"}, 0},
		"in between, for a while":                       {[]string{"1", "2", "1", "2", "1"}, 20 * ms},
		"in between, announced":                         {[]string{"1", "2!", "2", "2", "1"}, 10 * ms},
		"both until the end":                            {[]string{"1", "2", "1", "2", "1", "2"}, 30 * ms},
		"the address is back":                           {[]string{"1", "2!", "2", "1!", "1"}, -1},
		"it is back, the other goes on":                 {[]string{"1", "2!", "2", "1!", "1", "2"}, 0},
		"the first repeats what it announced":           {[]string{"1!", "1", "1!", "2", "1!", "1", "2", "1"}, 10 * ms},
		"it is back, and answers before it announces":   {[]string{"1", "2!", "2", "1", "1", "1!", "1"}, -1},
		"the same, and the other goes on":               {[]string{"1", "2!", "2", "1", "1", "1!", "1", "2"}, 30 * ms},
		"the same, and the other answers meanwhile":     {[]string{"1", "2!", "2", "2", "2", "1", "2", "1", "1!", "1"}, 10 * ms},
		"the other answers before it announces":         {[]string{"1", "2!", "2", "2", "2", "1", "2", "1!", "1"}, 10 * ms},
		"it leaves while both answer, and is back soon": {[]string{"1", "2!", "2", "1", "2", "2", "2", "2", "2", "2", "1", "1!", "1"}, 10 * ms},
		"announcements without a rival":                 {[]string{"1!", "1", "1!", "1", "2"}, -1},
		"three in turn":                                 {[]string{"1", "2", "3", "1"}, 1},
		"the second answers before it announces":        {[]string{"1", "2", "2!", "1"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := spoken(tt.script...)
			assert.Equal(t, tt.want+1, r.Two(), "%+v", r.Twos(0, math.MaxInt64, true))
			assert.Equal(t, r.Two(), r.DiscoveryTwoIn(0, math.MaxInt64))
			assert.Zero(t, r.TwoIn(0, math.MaxInt64, VIP6), "another address")
		})
	}
}

// A node that nothing reaches is asked all the time, and answers before and after. That the watcher was late is no such gap: nobody answered meanwhile.
func TestNodeThatIsMuteWhileAnotherAnswersDoesNotAnswerMeanwhile(t *testing.T) {
	for answers, want := range map[int]time.Duration{1: 1990 * time.Millisecond, muteAnswers: 0} {
		script := []string{"1"}
		for i := range 199 {
			if i%(199/answers) == 0 {
				script = append(script, "2")
			} else {
				script = append(script, "-")
			}
		}
		script = append(script, "1", "2")
		r := spoken(script...)
		assert.Equal(t, want, r.Two().Round(10*time.Millisecond), "%d answers of the other", answers)
	}
}

func TestTwoAreJudgedByAddressTimeAndWay(t *testing.T) {
	r := spoken("1", "2", "1", "2", "1", "3", "3")
	assert.Equal(t, 20*ms+1, r.Two())
	assert.Equal(t, 20*ms+1, r.Beside(2, 0, time.Second))
	assert.Zero(t, r.Beside(3, 0, time.Second))
	assert.Equal(t, time.Duration(1), r.TwoIn(0, 25*ms), "until then node 2 answered once")
	assert.Zero(t, r.TwoIn(40*ms, time.Second))
	assert.True(t, r.Answered(3, VIP4, 50*ms, 51*ms))
	assert.False(t, r.Answered(3, VIP6, 0, time.Second))

	for i := range r.Answers {
		r.Answers[i].Way = ByUDP
	}
	assert.Zero(t, r.DiscoveryTwoIn(0, time.Second))
	assert.NotZero(t, r.TwoIn(0, time.Second))

	r.Answers[1].Address, r.Answers[3].Address = VIP6, VIP6
	assert.Zero(t, r.Two(), "of another address")
}

// Whoever has not seen all says nothing of safety, and never that all was well.
func TestTwoAnswerWhereTheCaptureIsBlind(t *testing.T) {
	r := &Report{targets: []netip.Addr{VIP4}, Began: 0, Ended: time.Second, Blind: errors.New("frames were dropped")}
	assert.Equal(t, time.Second, r.TwoIn(0, r.Ended))
	assert.NotZero(t, r.DiscoveryTwoIn(0, r.Ended))
	assert.NotZero(t, r.Beside(1, 0, r.Ended))
}

func TestAnswersAfterTheLeaseAreOverdue(t *testing.T) {
	named := []netip.Addr{VIP4}
	r := &Report{Adverts: []Advert{
		{At: 100 * ms, Node: 1, Priority: 100, Interval: 100 * ms, names: named},
		{At: 200 * ms, Node: 1, Priority: 100, Interval: 100 * ms, names: named},
		{At: 250 * ms, Node: 1, Priority: 0, Interval: 100 * ms, names: named},
		{At: 260 * ms, Node: 1, Priority: 100, Interval: 100 * ms, names: []netip.Addr{VIP6}},
		{At: 300 * ms, Node: 2, Priority: 100, Interval: 100 * ms, names: named},
		{At: 900 * ms, Node: 1, Priority: 100, Interval: 100 * ms, names: named},
	}}
	for _, at := range []time.Duration{50 * ms, 390 * ms, 499 * ms, 500 * ms, 501 * ms, 800 * ms, 950 * ms} {
		r.Answers = append(r.Answers, Answer{At: at, Node: 1, Address: VIP4})
	}
	var late []time.Duration
	for _, a := range r.Overdue(1, VIP4) {
		late = append(late, a.At)
	}
	assert.Equal(t, []time.Duration{501 * ms, 800 * ms}, late)
	assert.Empty(t, r.Overdue(2, VIP4))
	assert.Empty(t, r.Overdue(1, VIP6))
}

func TestRivalryIsHowOftenTwoAdvertiseInTurn(t *testing.T) {
	for nodes, want := range map[string]int{
		"1111": 0, "1112222": 0, "11121222": 2, "111212121222": 6, "1112111": 1, "111222111222": 0, "12": 1, "": 0,
	} {
		r := &Report{}
		for i, n := range nodes {
			r.Adverts = append(r.Adverts, Advert{At: time.Duration(i), Node: int(n - '0'), Priority: 100})
		}
		assert.Equal(t, want, r.Rivalry(0, 100), nodes)
	}
}

func TestCaptureKeepsWhatAnswersAndPassesQuestionsOver(t *testing.T) {
	raw := must(bpf.Assemble(nodesSpeak()))(t)
	instructions, _ := bpf.Disassemble(raw)
	filter := must(bpf.NewVM(instructions))(t)

	own, other := net.HardwareAddr{2, 0, 0, 0, 0, 1}, net.HardwareAddr{2, 0, 0, 0, 0, 9}
	client4, client6 := netip.MustParseAddr("10.77.0.201"), netip.MustParseAddr("fd77::201")
	echo := func(from, to netip.Addr, port, toPort uint16, node byte) []byte {
		b := make([]byte, payloadSize)
		payload{node: node, seq: 7}.put(b)
		return udpFrame(ends{fromMAC: own, toMAC: other, from: netip.AddrPortFrom(from, port), to: netip.AddrPortFrom(to, toPort)}, b)
	}
	question := arpRequest(ends{fromMAC: own, toMAC: other, from: netip.AddrPortFrom(VIP4, 0), to: netip.AddrPortFrom(client4, 0)})
	reply := append([]byte(nil), question...)
	binary.BigEndian.PutUint16(reply[etherHeader+6:], 2)
	advertised := gratuitous(own, VIP6)
	solicited := append([]byte(nil), advertised...)
	solicited[etherHeader+ipv6Header+4] |= 0x40

	for name, tt := range map[string]struct {
		frame []byte
		want  Answer
	}{
		"ARP reply":                  {reply, Answer{Address: VIP4, Way: ByARP}},
		"ARP question":               {question, Answer{}},
		"gratuitous ARP":             {gratuitous(own, VIP4), Answer{}},
		"neighbour advertisement":    {solicited, Answer{Address: VIP6, Way: ByNS}},
		"the same, not asked for":    {advertised, Answer{}},
		"echo over IPv4":             {echo(VIP4, client4, echoPort, 9, 1), Answer{Address: VIP4, Way: ByUDP}},
		"echo over IPv6":             {echo(VIP6, client6, echoPort, 9, 1), Answer{Address: VIP6, Way: ByUDP}},
		"a probe":                    {echo(client4, VIP4, 9, echoPort, 0), Answer{}},
		"a probe from the same port": {echo(client4, VIP4, echoPort, echoPort, 0), Answer{}},
		"cut short":                  {reply[:20], Answer{}},
	} {
		got, ok := parseAnswer(tt.frame)
		if !ok {
			got = Answer{}
		}
		assert.Equal(t, tt.want, got, name)
		if tt.want.Address.IsValid() {
			n := must(filter.Run(tt.frame))(t)
			assert.NotZero(t, n, "the filter passes: "+name)
		}
	}
	n := must(filter.Run(echo(client4, VIP4, 9, 10, 0)))(t)
	assert.Zero(t, n, "the filter drops other datagrams")
	_, stamped := stampOf(nil)
	assert.False(t, stamped, "without a time of the kernel there is none")
}

func TestMoveBySilenceIsOneAfterThreeIntervals(t *testing.T) {
	said := func(at time.Duration, node, priority int) Advert {
		return Advert{At: at, Node: node, Priority: priority, Interval: 100 * ms}
	}
	for name, tt := range map[string]struct {
		adverts []Advert
		want    int
	}{
		"it goes on":                 {[]Advert{said(0, 1, 100), said(900*ms, 1, 100)}, 0},
		"too early":                  {[]Advert{said(0, 1, 100), said(299*ms, 2, 100)}, 0},
		"when it is due":             {[]Advert{said(0, 1, 100), said(300*ms, 2, 100)}, 1},
		"a farewell is none":         {[]Advert{said(0, 1, 100), said(250*ms, 1, 0), said(300*ms, 2, 100)}, 1},
		"a late one crosses it":      {[]Advert{said(0, 1, 100), said(298*ms, 1, 100), said(301*ms, 2, 100)}, 1},
		"too early for that":         {[]Advert{said(0, 1, 100), said(298*ms, 1, 100), said(299*ms, 2, 100)}, 0},
		"a late one was heard":       {[]Advert{said(0, 1, 100), said(298*ms, 1, 100), said(320*ms, 2, 100)}, 0},
		"there, and back soon":       {[]Advert{said(0, 1, 100), said(300*ms, 2, 100), said(310*ms, 1, 100)}, 1},
		"there, and back by another": {[]Advert{said(0, 1, 100), said(300*ms, 2, 100), said(700*ms, 1, 100)}, 2},
	} {
		assert.Equal(t, tt.want, (&Report{Adverts: tt.adverts}).BySilence(0), name)
	}
}

// What is asked for, and the record, may begin or end between a node's first advertisement and when it binds the address.
func TestMoveBySilenceAtTheEndsOfARecordIsOne(t *testing.T) {
	said := func(at time.Duration, node int) Advert {
		return Advert{At: at, Node: node, Priority: 100, Interval: 100 * ms}
	}
	taken := []Bind{{At: 320 * ms, Node: 2, Address: VIP4, Added: true}}
	began := Report{Adverts: []Advert{said(0, 1), said(300*ms, 2)}, Binds: taken, Ended: 350 * ms}
	assert.Equal(t, 1, began.BySilence(310*ms), "it is bound afterwards")
	assert.Zero(t, began.BySilence(321*ms), "that was before")
	began.Binds = []Bind{{At: 600 * ms, Node: 2, Address: VIP4, Added: true}}
	assert.Zero(t, began.BySilence(310*ms), "it is bound for another reason")
	ended := Report{Adverts: []Advert{said(0, 1)}, Binds: taken, Ended: 320 * ms}
	assert.Equal(t, 1, ended.BySilence(100*ms), "what it advertises is not recorded")
	ended.Binds = []Bind{{At: 299 * ms, Node: 2, Address: VIP4, Added: true}}
	assert.Zero(t, ended.BySilence(100*ms), "too early")
	ended.Binds = nil
	assert.Zero(t, ended.BySilence(100*ms), "nobody has taken it")
	assert.Equal(t, 1, ended.Silences(100*ms), "but it was silent")
}

// must is what a step returns, which is required not to fail: must(n.Addresses())(t).
func must[T any](got T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return got
	}
}
