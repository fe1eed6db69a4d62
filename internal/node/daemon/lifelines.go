package daemon

import (
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/keepvip/keepvip/election/virtualrouter"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/fence"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/members/lifeline"
)

// lifelines shares the lines of a place among the entries there.
type lifelines struct {
	auth   *members.Auth
	fences *fence.Links
	port   uint16
	mark   fence.Mark // 0: there are none
	log    *slog.Logger
	all    pool[earsKey, placeLines]

	mu    sync.Mutex // guards what follows
	raft  bool       // Raft listens at the port
	known map[earsKey]*lifeline.Lines
}

// newLifelines has the fences end their leases with this process, if that is wanted.
func newLifelines(cfg *config.Config, auth *members.Auth, fences *fence.Links, log *slog.Logger) *lifelines {
	l := &lifelines{auth: auth, fences: fences, port: cfg.Port, log: log, known: map[earsKey]*lifeline.Lines{}}
	if cfg.Lifeline && cfg.Port != 0 {
		l.mark = fence.NewMark()
		fences.Mark(l.mark)
	}
	return l
}

// use takes a configuration over. The port is Raft's where an address is elected so: its members are listened to there, and know each other's death
// by their connections already.
func (l *lifelines) use(cfg *config.Config) {
	if len(cfg.ByRaft()) == 0 {
		return // until it is freed
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.raft = true
	for _, lines := range l.known {
		_ = lines.Close() // never fails
	}
}

// freed has lines again where nothing is elected by Raft any more, which has left the port.
func (l *lifelines) freed(cfg *config.Config) {
	if len(cfg.ByRaft()) > 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.raft = false
	for _, lines := range l.known {
		lines.Open()
	}
}

// at are the lines of a place, open while the port is theirs; nil: there are none.
func (l *lifelines) at(p instance.Place) (*lifeline.Lines, func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mark == 0 {
		return nil, func() {}
	}
	key := earsKey{p.Index, p.Source}
	lines, release, _ := l.all.get(key, func() (placeLines, error) { // never fails
		lines := lifeline.New(lifeline.Config{
			Interface: net.Interface{Index: p.Index, Name: p.Name}, Source: p.Source, Port: l.port, Mark: uint32(l.mark),
			Armed: func() bool { return l.fences.End(p.Index) }, Keys: &l.auth.Keys, Log: l.log.With("interface", p.Name),
		})
		if !l.raft {
			lines.Open()
		}
		l.known[key] = lines
		return placeLines{lines, func() { delete(l.known, key) }}, nil
	})
	return lines.Lines, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		release()
	}
}

// placeLines are the lines of a place, until nobody needs them any more.
type placeLines struct {
	*lifeline.Lines
	forget func()
}

// Close implements io.Closer. The lock of its lifelines is held.
func (p placeLines) Close() error {
	p.forget()
	return p.Lines.Close()
}

const (
	// silenceAsks is how often an address is asked for before nobody is taken to answer, and silenceWait is how long each answer is waited for: a kernel
	// answers in microseconds.
	silenceAsks = 2
	silenceWait = time.Millisecond
)

// judged lets the election of an entry judge the end of a member's process, and with vrrp.detector fast of its node.
// Where nobody can be asked for the address it judges neither. Then the entry does not go by beats.
func judged(cfg *virtualrouter.Config, lines *lifeline.Lines, log *slog.Logger) {
	e, ok := cfg.Ears.(*ears)
	switch {
	case ok && (cfg.Pulse != nil || lines != nil):
		cfg.Answers = func(a netip.Addr) bool { return e.arp.Answers(a, silenceAsks, silenceWait) }
		if lines != nil {
			cfg.Held = lines.Held
		}
	case cfg.Pulse != nil:
		log.Warn("vrrp.detector fast does not work on this node: nobody can be asked for the address, and missing advertisements alone tell that the holder is dead",
			"code", string(code.DetectorPlain))
		cfg.Pulse, cfg.AsMember.Fast = nil, false
	}
}
