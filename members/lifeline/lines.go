package lifeline

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/keepvip/keepvip/internal/base/auth"
	"github.com/keepvip/keepvip/internal/base/nudge"
)

// Config describes the lines of a place.
type Config struct {
	Interface net.Interface // Index and Name
	Source    netip.Addr    // own address on Interface
	Port      uint16        // TCP, of all members
	Mark      uint32        // what this end's packets bear when its process ends (SO_MARK); not 0
	// Armed tells whether the kernel takes the leases of the place away by a packet with the mark. Without that no line is made: the end of
	// this process would be heard, and its addresses would go on.
	Armed func() bool
	Keys  *auth.Keys // of the members, by which the ends of a line know each other
	Log   *slog.Logger

	within func(do func()) // makes sockets where a test wants them; nil: here
}

// Kind is what has become of a line.
type Kind uint8

// The kinds.
const (
	Ended  Kind = iota + 1 // the process of the member has ended, as far as can be heard
	Broken                 // a line of this node to the member has ended, and not in order
)

// Event is the end of a line.
type Event struct {
	Kind   Kind
	Member netip.Addr // without a zone
	At     time.Time  // when it was heard
}

const (
	// mostMembers bounds the lines, and what invented members can make a node remember.
	mostMembers = 16
	// heardFor is for how long a member that is silent is known.
	heardFor = 30 * time.Second
	// mostHeard is how many sessions of a member are kept: it has one for each group.
	mostHeard = 512
)

// Lines are those of one place to all members that are heard there. Safe for concurrent use.
type Lines struct {
	cfg  Config
	ctx  context.Context // from Open until Close
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu       sync.Mutex // guards what follows
	closed   bool
	members  map[netip.Addr]*member
	sessions []uint64 // of this node
	told     map[int]func(Event)
	lastID   int
}

// member is another node that is heard.
type member struct {
	heard    time.Time
	sessions map[uint64]time.Time // when each was heard last
	fresh    nudge.Signal         // a session is new, so it may answer again
	dialled  bool                 // a line to it stands
	accepted net.Conn             // its line to this node; nil: there is none
	greeting int                  // how many callers from there have not shown yet who they are
}

// New prepares the lines of a place. There is none from there or to there before Open.
func New(cfg Config) *Lines {
	cfg.Source = cfg.Source.WithZone("")
	if cfg.within == nil {
		cfg.within = func(do func()) { do() }
	}
	return &Lines{cfg: cfg, stop: func() {}, closed: true, told: map[int]func(Event){}}
}

// Open begins to make lines, also after Close. It must not run beside Open or Close.
func (l *Lines) Open() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		return
	}
	l.closed, l.members = false, map[netip.Addr]*member{}
	l.ctx, l.stop = context.WithCancel(context.Background())
	l.wg.Go(l.listen)
}

// Close ends all lines in order: nobody takes that for a death. Who speaks and who follows stays for another Open.
func (l *Lines) Close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.stop()
	l.wg.Wait()
	return nil
}

// Speak names one more session of this node, which the others hear. The returned function takes that back.
func (l *Lines) Speak(session uint64) (end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sessions = append(l.sessions, session)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.sessions = slices.DeleteFunc(slices.Clone(l.sessions), func(s uint64) bool { return s == session })
	}
}

// Follow has fn told of the end of lines; it must not wait. The returned function ends that.
func (l *Lines) Follow(fn func(Event)) (end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lastID++
	id := l.lastID
	l.told[id] = fn
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.told, id)
	}
}

// Heard says that a message of a member was believed, and of which session; with leaves, that it was the last of that.
func (l *Lines) Heard(from netip.Addr, session uint64, leaves bool) {
	from = from.WithZone("")
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.members[from]
	if m == nil {
		if l.closed || leaves || from == l.cfg.Source || len(l.members) >= mostMembers {
			return
		}
		m = &member{sessions: map[uint64]time.Time{}, fresh: nudge.New()}
		l.members[from] = m
		l.wg.Go(func() { l.keep(from, m) })
	}
	m.hear(session, leaves, now)
}

func (m *member) hear(session uint64, leaves bool, now time.Time) {
	m.heard = now
	_, known := m.sessions[session]
	if leaves {
		delete(m.sessions, session)
		return
	}
	if !known && len(m.sessions) >= mostHeard {
		clear(m.sessions) // those that are there speak again within seconds
	}
	m.sessions[session] = now
	if !known {
		m.fresh.Send()
	}
}

// forgotten drops a member that is silent and has no line, and tells whether it did.
func (l *Lines) forgotten(a netip.Addr, m *member, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(m.heard) < heardFor || m.accepted != nil || m.greeting > 0 {
		return false
	}
	delete(l.members, a)
	return true
}

// says tells whether a member was heard with that session.
func (l *Lines) says(m *member, session uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, known := m.sessions[session]
	return known && time.Since(at) < heardFor
}

// own are sessions of this node, as many as a greeting names.
func (l *Lines) own() []uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.sessions[:min(len(l.sessions), maxSessions)])
}

// tell lets all who follow know of the end of a line, unless this end has ended it.
func (l *Lines) tell(e Event) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return
	}
	var told []func(Event)
	for _, fn := range l.told {
		told = append(told, fn)
	}
	l.mu.Unlock()
	for _, fn := range told {
		fn(e)
	}
}

// Held are the members whose end is heard here in the moment in which it comes, by address.
func (l *Lines) Held() []netip.Addr {
	return l.those(func(m *member) bool { return m.accepted != nil })
}

// Reached are the members that hear of this node's end so, by address.
func (l *Lines) Reached() []netip.Addr { return l.those(func(m *member) bool { return m.dialled }) }

func (l *Lines) those(which func(*member) bool) (list []netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for a, m := range l.members {
		if which(m) {
			list = append(list, a)
		}
	}
	slices.SortFunc(list, netip.Addr.Compare)
	return list
}
