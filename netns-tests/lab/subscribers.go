package lab

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/members/envelope"
	"github.com/keepvip/keepvip/members/subscription"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// SubscribersConfig says what a crowd of subscribers does: the client, with the followers' key, asks a member from many ports, again and again, each time
// with connections that are invented.
type SubscribersConfig struct {
	Member      netip.AddrPort
	Group       netip.Addr // the first of the virtual addresses
	KeyFile     string     // of the followers' key; whoever starts them reads it
	User        int        // who they are
	Ports       int        // of each address
	Addresses   int        // from which they ask; 0: the client's own
	Connections uint32     // that each says it has at that member
}

// subscriberPause is between two questions from one port, and subscriberEach for each port more where that is longer: what comes faster than a member
// reads says nothing about the places that it gives.
const subscriberPause, subscriberEach = 300 * time.Millisecond, 300 * time.Microsecond

// subscribers is what the helper process is given.
type subscribers struct {
	SubscribersConfig
	Secret []byte
}

// StartSubscribers begins them at the client, in a process of their own.
func (l *Lab) StartSubscribers(c SubscribersConfig) (_ *Callers, err error) {
	defer try.Catch(&err)
	if c.Addresses > 0 {
		try.Do(l.placeCrowd())
	}
	secret := try.Get(hex.DecodeString(strings.TrimSpace(string(try.Get(os.ReadFile(c.KeyFile))))))
	p, err := l.Client.startHelper(roleSubscribers, subscribers{c, secret}, unix.SCHED_IDLE)
	return &Callers{p}, err
}

// runSubscribers is the helper process: it asks until its standard input ends, and writes how many questions there were.
func runSubscribers(s subscribers) (err error) {
	defer try.Catch(&err)
	try.Do(syscall.Setresuid(s.User, s.User, s.User))
	key := try.Get(subscription.NewKey(s.Secret))
	keys := listOf(key)
	crowd := crowd{
		subscribers: s, sign: func(m subscription.Message) ([]byte, error) { return m.Append(nil, &key) },
		read: func(b []byte) (subscription.Message, error) { m, _, err := subscription.Parse(b, keys); return m, err },
	}
	tellReady()
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	pause, between := subscriberPause, time.Duration(0)
	if s.Addresses > 0 {
		between = subscriberEach
		pause = max(pause, time.Duration(s.Addresses*s.Ports)*between)
	}
	for i := range max(s.Addresses, 1) * s.Ports {
		from := &net.UDPAddr{}
		if s.Addresses > 0 {
			from.IP = follower(i % s.Addresses).AsSlice()
		}
		wait.Go(func() { crowd.subscribe(ctx, uint64(i+1), from, pause) })
		time.Sleep(between)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	cancel()
	wait.Wait()
	return try.Err(fmt.Println(crowd.asked.Load()))
}

func listOf[T any](all ...T) []T { return all }

// crowd is all of them at work.
type crowd struct {
	subscribers
	sign  func(subscription.Message) ([]byte, error)
	read  func([]byte) (subscription.Message, error)
	asked atomic.Int64
}

// subscribe asks from one port, and shows the cookies that it is given.
func (s *crowd) subscribe(ctx context.Context, session uint64, from *net.UDPAddr, pause time.Duration) {
	conn, err := net.DialUDP("udp", from, net.UDPAddrFromAddrPort(s.Member))
	if err != nil {
		fmt.Fprintln(os.Stderr, "lab: subscribers:", err)
		return
	}
	defer conn.Close()
	m := subscription.Message{Type: subscription.Subscribe, Session: session, Group: s.Group, Node: "crowd", Connections: &s.Connections}
	b := make([]byte, envelope.MaxMessage)
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	for ctx.Err() == nil {
		m.Sequence = uint64(time.Now().UnixNano())
		if text, err := s.sign(m); err == nil {
			_, _ = conn.Write(text)
			s.asked.Add(1)
		}
		_ = conn.SetReadDeadline(time.Now().Add(pause))
		for {
			n, err := conn.Read(b)
			if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, net.ErrClosed) {
				break
			}
			if err != nil {
				time.Sleep(callPause)
				continue
			}
			if got, err := s.read(b[:n]); err == nil && got.Type == subscription.Cookie && got.Cookie != m.Cookie {
				m.Cookie = got.Cookie
				break // and shows it
			}
		}
	}
}
