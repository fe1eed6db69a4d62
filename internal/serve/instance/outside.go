package instance

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
)

const (
	// outsideTime bounds one look from outside. The holder's kernel answers, so a slow service is no slow answer.
	outsideTime = 300 * time.Millisecond
	// outsideTries is how many looks in a row have to fail, and outsideAgain the time between them: packets are lost, and a service that restarts
	// is the holder's own affair.
	outsideTries, outsideAgain = 3, time.Second
	// outsideTurns is how many members look with each beat. Two of them have to agree before anything moves.
	outsideTurns = 2
)

// Outside looks at the addresses from this node while another one holds them.
type Outside struct {
	// Connect connects from an own address at p to the addresses, which the holder has. why is why clients from there would not be served; empty: they
	// would. known tells that it has found that out. It returns soon after its context has ended.
	Connect func(ctx context.Context, p Place, holder election.Member) (why string, known bool)
	// Sure tells that clients connect at that port. Otherwise it is only that of a check, and nothing is said before a look has come through.
	Sure bool
	// Beats is how many beats there are between two looks; 0 counts as 1.
	Beats int
}

// outside is what this node has found out about the addresses that another one holds. It belongs to the goroutine of run.
type outside struct {
	shared  *shared
	log     *slog.Logger
	results chan outsideLook // capacity 1: there is one look at a time, and nobody waits for it
	again   *time.Timer      // the next look of one that has failed
	busy    bool
	holder  netip.Addr
	failed  int // looks in a row
	ever    bool
}

type outsideLook struct {
	holder netip.Addr
	why    string
	known  bool
}

func newOutside(of *shared, log *slog.Logger) outside {
	again := time.NewTimer(time.Hour)
	again.Stop()
	return outside{shared: of, log: log, results: make(chan outsideLook, 1), again: again}
}

// look looks with each beat at whether the addresses are served where they are held: by turns, so that a holder has two visitors a beat, however
// many members there are. Where one has seen that they are not, all look.
func (o *outside) look(ctx context.Context, now time.Time) {
	v := o.shared.now()
	if v.elector == nil {
		return
	}
	s := v.elector.Status()
	o.say(&v, s)
	at := v.cfg.Outside
	if at == nil {
		return
	}
	holder := heldOutside(&v, s)
	if holder.Address != o.holder {
		o.holder, o.failed = holder.Address, 0
		o.tell(&v, "")
	}
	if !holder.Address.IsValid() || o.busy {
		return
	}
	if o.failed > 0 || len(s.Outside) > 0 || lookTurn(s.Members, now, max(at.Beats, 1), v.cfg.VIP.Addresses) {
		o.busy = true
		results, place := o.results, v.place
		go func() {
			ctx, cancel := context.WithTimeout(ctx, outsideTime)
			defer cancel()
			why, known := at.Connect(ctx, place, holder)
			results <- outsideLook{holder.Address, why, known}
		}()
	}
}

// heldOutside is the holder to look at: another node that is heard, and says of itself that it serves well; the zero Member: there is none. What is wrong
// with others is named already.
func heldOutside(v *view, s election.Status) election.Member {
	if v.role != election.Standby || s.State != election.Backup {
		return election.Member{}
	}
	for _, m := range s.Members {
		well := m.SaysFit() && m.Unfit == "" && !m.Draining
		if !m.Speaks() {
			well = m.Priority > 1
		}
		if m.Address == s.Holder && !m.Self && m.State == election.Active && well {
			return m
		}
	}
	return election.Member{}
}

// lookTurn tells whether it is this node's turn: two of those that do not hold the addresses look at a time. Entries of which there are many look in
// turns as well.
func lookTurn(members []election.Member, now time.Time, beats int, addresses []netip.Prefix) bool {
	beat := int(now.Unix() / int64(beatEvery/time.Second))
	if len(addresses) > 0 {
		b := addresses[0].Addr().As16()
		beat += int(b[15])
	}
	if beat%beats != 0 {
		return false
	}
	var list []netip.Addr
	var self netip.Addr
	for _, m := range members {
		if m.State != election.Active && m.State != election.Silent && !m.Witness && (m.Self || m.Speaks()) {
			list = append(list, m.Address)
		}
		if m.Self {
			self = m.Address
		}
	}
	slices.SortFunc(list, netip.Addr.Compare)
	n, at := len(list), slices.Index(list, self)
	if n == 0 || at < 0 {
		return false
	}
	return ((at-outsideTurns*(beat/beats))%n+n)%n < outsideTurns
}

// take takes in a look that has ended.
func (o *outside) take(l outsideLook) {
	o.busy = false
	v := o.shared.now()
	if l.holder != o.holder || !l.known || v.cfg.Outside == nil {
		return
	}
	if l.why == "" {
		o.failed, o.ever = 0, true
		o.tell(&v, "")
		return
	}
	o.failed++
	if o.failed < outsideTries {
		o.again.Reset(outsideAgain)
		return
	}
	if o.ever || v.cfg.Outside.Sure {
		o.tell(&v, l.why)
	}
}

// tell lets the elector, and the status, know what has been seen.
func (o *outside) tell(v *view, why string) {
	if v.outside == why {
		return
	}
	o.shared.change(func(v *view) { v.outside = why })
	if e, ok := v.elector.(election.Visitor); ok {
		var u election.Unreached
		if why != "" {
			u = election.Unreached{Holder: o.holder, Never: !o.ever}
		}
		e.SetUnreached(u)
	}
}

// say writes a line when who is not served from outside changes, on every node that hears of it.
func (o *outside) say(v *view, s election.Status) {
	now := v.unreached(s)
	if now == v.unreachedSaid {
		return
	}
	if now != "" {
		o.log.Warn("the address is not served where it is held, as seen from outside", "code", string(code.HeldUnreached), "reason", now,
			"remedy", code.HeldUnreached.Entry().Remedy)
	} else {
		o.log.Info("the address is served where it is held, as seen from outside")
	}
	o.shared.change(func(v *view) { v.unreachedSaid = now })
}

// unreached says who cannot connect to the addresses where they are held; empty for nobody.
func (v *view) unreached(s election.Status) string {
	list := s.Outside
	if _, tells := v.elector.(election.Visitor); !tells && v.outside != "" {
		list = []election.Outsider{{Self: true}}
	}
	if len(list) == 0 {
		return ""
	}
	var names []string
	self, never := false, true
	for _, o := range list {
		name := o.String()
		if o.Self {
			name, self = "this node", true
		}
		names, never = append(names, name), never && o.Never
	}
	text := strings.Join(names, " and ") + " cannot connect to the address at its holder"
	if len(names) > 1 {
		text += ", which they hear"
	} else {
		text += ", which it hears"
	}
	if self && v.outside != "" {
		text += ": " + v.outside
	}
	if never {
		text += "; no holder was reached from there since the start, so nothing moves for it"
	}
	return text
}
