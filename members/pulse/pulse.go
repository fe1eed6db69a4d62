package pulse

import (
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/keepvip/keepvip/internal/base/alarm"
)

// Echoes are what a Pulse needs of an [EchoSocket].
type Echoes interface {
	Send(to netip.Addr) error
	Answers(fn func(Echoed))
	Close() error
}

// Config describes the Pulse of a place: an interface and an own address.
type Config struct {
	Source  netip.Addr
	Session uint64 // random
	// Send sends a message to all members of the place.
	Send func(Message) error
	// Behind tells whether a message of a member has arrived that was not given to [Pulse.Receive] yet.
	Behind func() bool
	// Gone is told that the node of a holder is gone. It must not wait, nor use the Pulse.
	Gone func(Gone)
	// Alarm says when something is due. The Pulse owns it from now on; nil: a timer of Go's runtime, as in virtual time.
	Alarm alarm.Alarm
	Log   *slog.Logger
}

const (
	// catchUp is how often the reader of messages is waited for, and behindPause how long each time: a message that has arrived counts before a
	// judgement.
	catchUp     = 20
	behindPause = 200 * time.Microsecond
)

// Pulse is the loop around a machine. Safe for concurrent use.
type Pulse struct {
	cfg  Config
	done chan struct{}

	mu      sync.Mutex // guards what follows
	machine *machine
	echoes  Echoes
	users   []*User
	gateway netip.Addr // the zero Addr: none is known
	closed  bool
}

// Open begins, with echoes, which it owns from now on. Close ends it.
func Open(cfg Config, echoes Echoes) *Pulse {
	if cfg.Alarm == nil {
		cfg.Alarm = alarm.Plain()
	}
	p := &Pulse{cfg: cfg, done: make(chan struct{}), machine: newMachine(cfg.Source), echoes: echoes}
	go p.run()
	return p
}

// Close ends it, and says to the others that no beat follows.
func (p *Pulse) Close() error {
	err := p.cfg.Alarm.Close()
	<-p.done
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step(holds{})
	p.closed = true
	return errors.Join(err, p.echoes.Close())
}

func (p *Pulse) run() {
	defer close(p.done)
	for p.cfg.Alarm.Wait() {
		p.expire()
	}
}

// expire does what is due, after everything that has arrived. A reader that does not catch up, as in a flood, is waited for, and nothing is judged meanwhile.
func (p *Pulse) expire() {
	for tries := 0; p.cfg.Behind(); tries++ {
		if tries == catchUp {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.cfg.Alarm.Set(time.Now().Add(time.Millisecond))
			return
		}
		time.Sleep(behindPause)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listen()
	p.step(expired{})
}

// listen takes in the answers to echoes that have come in. The caller holds the lock.
func (p *Pulse) listen() {
	if !p.closed {
		p.echoes.Answers(func(e Echoed) { p.step(e) })
	}
}

// step gives an event to the machine, and carries out what it asks for. The caller holds the lock.
func (p *Pulse) step(ev event) {
	if p.closed {
		return
	}
	for _, a := range p.machine.step(time.Now(), ev) {
		switch a := a.(type) {
		case send:
			a.Message.Session = p.cfg.Session
			if err := p.cfg.Send(a.Message); err != nil {
				p.cfg.Log.Debug("message to the members not sent", "type", a.Message.Type.String(), "error", err)
			}
		case echo:
			if err := p.echoes.Send(a.To); err != nil {
				p.cfg.Log.Debug("echo not sent", "error", err)
			}
		case Gone:
			p.cfg.Gone(a)
		}
	}
	if due := p.machine.due; !due.IsZero() {
		p.cfg.Alarm.Set(due)
	}
}

// Receive takes a message of a member that was believed. At is when the kernel took it in.
func (p *Pulse) Receive(source netip.Addr, m Message, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step(received{source, m, at})
}

// Meet takes in that a member of a group was heard that takes part in this, and for how long that counts; 0: it has left the group.
func (p *Pulse) Meet(source, group netip.Addr, lifetime time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step(met{source, group, lifetime})
}

// User is one election that goes by a Pulse.
type User struct {
	p       *Pulse
	holds   bool
	follows netip.Addr
	witness Witness
}

// Witness is whom an election has where there is no third member; the zero Witness is nobody.
type Witness struct {
	Host    netip.Addr
	Gateway bool // that of SetGateway
}

// Join adds an election. Close it.
func (p *Pulse) Join(witness Witness) *User {
	p.mu.Lock()
	defer p.mu.Unlock()
	u := &User{p: p, witness: witness}
	p.users = append(p.users, u)
	p.tell()
	return u
}

// SetGateway says which host the gateway of the place is; the zero Addr for none.
func (p *Pulse) SetGateway(a netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gateway != a {
		p.gateway = a
		p.tell()
	}
}

// Tell says whether this node holds the addresses, and whom it follows as their holder; the zero Addr for nobody. It is a level.
func (u *User) Tell(holds bool, follows netip.Addr) {
	u.p.mu.Lock()
	defer u.p.mu.Unlock()
	if follows = follows.WithZone(""); u.holds == holds && u.follows == follows {
		return
	}
	u.holds, u.follows = holds, follows
	u.p.tell()
}

// Heard tells whether a node was heard since then.
func (u *User) Heard(source netip.Addr, since time.Time) bool {
	u.p.mu.Lock()
	defer u.p.mu.Unlock()
	u.p.listen()
	return u.p.machine.heardSince(source, since)
}

// Beat is when a beat of a node was heard last; zero: never, or it does not beat any more.
func (u *User) Beat(source netip.Addr) time.Time {
	u.p.mu.Lock()
	defer u.p.mu.Unlock()
	return u.p.machine.lastBeat(source)
}

// State is for how long a beat may be late, and why the node of a holder would not be found to be gone; empty if it would.
func (u *User) State(holder netip.Addr) (wait time.Duration, why string) {
	u.p.mu.Lock()
	defer u.p.mu.Unlock()
	now := time.Now()
	return u.p.machine.delays.wait(now), u.p.machine.why(now, holder)
}

// Close takes the election out.
func (u *User) Close() {
	u.p.mu.Lock()
	defer u.p.mu.Unlock()
	u.p.users = slices.DeleteFunc(u.p.users, func(o *User) bool { return o == u })
	u.p.tell()
}

// tell says what all elections together want. The caller holds the lock.
func (p *Pulse) tell() {
	var holders []netip.Addr
	var holding bool
	var witness witnessed
	for _, u := range p.users {
		holding = holding || u.holds
		if u.follows.IsValid() {
			holders = append(holders, u.follows)
		}
		switch {
		case witness.Witness.IsValid():
		case u.witness.Gateway && p.gateway.IsValid():
			witness.Witness = p.gateway
		case u.witness.Gateway:
			witness.Lacks = "no default route of this node leaves by the link, so there is no gateway to ask"
		default:
			witness.Witness = u.witness.Host
		}
	}
	p.step(witness)
	p.step(follows{holders})
	p.step(holds{holding})
}
