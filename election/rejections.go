package election

import (
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
)

const (
	// MostRejections bounds what a flood of invented sources can make this node remember.
	MostRejections = 64
	// LogEvery is how often the same reason is logged for the same sender.
	LogEvery = time.Minute
	// MostLines bounds the lines of a minute for one reason: a flood invents a new sender with each packet.
	MostLines = 10
	// Permitted follows the reason for which something would be refused if the mode were enforce.
	Permitted = "-permitted"
)

// Rejection is what was refused of one sender for one reason.
type Rejection struct {
	Source    netip.Addr `json:"from"`                // the zero Addr when it is about the socket
	Reason    string     `json:"reason"`              // short, fit for a label
	Permitted bool       `json:"permitted,omitempty"` // it was taken nevertheless, because the mode is not enforce
	Text      string     `json:"error"`               // the newest one that was logged, in full
	Remedy    string     `json:"remedy,omitempty"`    // what an operator has to do; empty for nothing
	Code      code.Code  `json:"code,omitempty"`
	Count     uint64     `json:"count"`
	Last      time.Time  `json:"last"`
}

// Acute tells that an operator has to act on something that still happens.
func (r Rejection) Acute(now time.Time) bool { return r.Remedy != "" && now.Sub(r.Last) < LogEvery }

// Rejections counts what was not taken into account, remembers the newest of each sender and reason, and logs at most
// one line per sender and reason in a minute. Safe for concurrent use.
type Rejections struct {
	log      *slog.Logger
	what     string
	remedies map[string]string
	codes    func(reason string) code.Code // nil: there are none

	mu     sync.Mutex // guards what follows
	counts map[string]uint64
	list   []noted
	lines  Lines // by reason
}

type noted struct {
	Rejection
	logged time.Time
}

// NewRejections makes an empty record of what is refused, with what to do about each reason, that logs to log.
func NewRejections(what string, remedies map[string]string, log *slog.Logger) *Rejections {
	return &Rejections{log: log, what: what, remedies: remedies, counts: map[string]uint64{}}
}

// Name has each reason shown with its code. Call it before the first Add.
func (r *Rejections) Name(codes func(reason string) code.Code) *Rejections {
	r.codes = codes
	return r
}

// Since is the newest that was refused since then, and not taken nevertheless, of a sender, or of any with the zero Addr, and has a remedy;
// false if nothing was.
func (r *Rejections) Since(then time.Time, source netip.Addr) (newest Rejection, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.list {
		if n.Remedy == "" || n.Permitted || !n.Source.IsValid() || source.IsValid() && n.Source.WithZone("") != source {
			continue
		}
		if !n.Last.Before(then) && (!ok || n.Last.After(newest.Last)) {
			newest, ok = n.Rejection, true
		}
	}
	return newest, ok
}

// Add records a packet that was refused, err saying why in full; nil where the reason says all.
func (r *Rejections) Add(source netip.Addr, reason string, err error) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[reason]++
	n := r.find(source, reason)
	n.Count, n.Last = n.Count+1, now
	if !n.logged.IsZero() && now.Sub(n.logged) < LogEvery {
		return
	}
	left, ok := r.lines.May(now, reason, MostLines)
	if !ok {
		return
	}
	if err != nil {
		n.Text = err.Error()
	}
	n.logged = now
	r.write(n.Rejection, left)
}

// find returns the entry, a new one in the place of the oldest if need be. The caller holds the lock.
func (r *Rejections) find(source netip.Addr, reason string) *noted {
	oldest := 0
	for i := range r.list {
		n := &r.list[i]
		if n.Source == source && n.Reason == reason {
			return n
		}
		if n.Last.Before(r.list[oldest].Last) {
			oldest = i
		}
	}
	base, taken := strings.CutSuffix(reason, Permitted)
	fresh := noted{Rejection: Rejection{Source: source, Reason: reason, Permitted: taken, Text: reason, Remedy: r.remedies[base]}}
	if r.codes != nil {
		fresh.Code = r.codes(base)
	}
	if len(r.list) < MostRejections {
		r.list = append(r.list, fresh)
		return &r.list[len(r.list)-1]
	}
	r.list[oldest] = fresh
	return &r.list[oldest]
}

func (r *Rejections) write(n Rejection, left int) {
	args := LeftOut([]any{"from", n.Source.String(), "reason", n.Reason, "error", n.Text}, left)
	switch {
	case n.Permitted:
		r.log.Warn(r.what+" taken that key.mode enforce would reject", append(args, "remedy", n.Remedy)...)
	case n.Remedy != "":
		r.log.Warn(r.what+" rejected", append(args, "remedy", n.Remedy)...)
	default:
		r.log.Debug(r.what+" rejected", args...)
	}
}

// Counts is how many were refused, by reason.
func (r *Rejections) Counts() map[string]uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.counts)
}

// List is what was refused, the newest first.
func (r *Rejections) List() []Rejection {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Rejection, len(r.list))
	for i, n := range r.list {
		out[i] = n.Rejection
	}
	slices.SortFunc(out, func(a, b Rejection) int { return b.Last.Compare(a.Last) })
	return out
}
