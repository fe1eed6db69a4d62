package election

import (
	"errors"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/keepvip/keepvip/vrrp"
)

const (
	// maxRejections bounds what a flood of invented sources can make this node remember.
	maxRejections = 64
	// logEvery is how often the same reason is logged for the same sender.
	logEvery = time.Minute
	// maxLines bounds the lines of a minute for one reason: a flood invents a new sender with each packet.
	maxLines = 10
)

// Reasons why a valid advertisement is not taken into account, beside those of vrrp.PacketError.
const (
	RejectOwn    = "own"    // our own source address
	RejectPeer   = "peer"   // unicast, from nobody on the list
	RejectSocket = "socket" // no advertisement: the socket could not be read

	// permitted follows the reason for which an advertisement would be refused if the mode were enforce.
	permitted = "-permitted"
)

// actOn are the reasons that an operator has to do something about, and what.
var actOn = map[string]string{
	vrrp.RejectAddresses: "another cluster uses this VRID on the link; both work, but set vrrp.id to another number on one of them",
	vrrp.RejectVersion:   "set vrrp.version to the same on all routers",
	vrrp.RejectInterval:  "with version 2 the interval has to be the same on all routers",
	vrrp.RejectAuth:      "authentication has to be the same on all routers",
	vrrp.RejectUnsigned:  "the sender has no key; give it the key, or set key.mode while the key is being introduced",
	vrrp.RejectKey:       "the sender signs with a key that this node does not have; add it under key.accept",
	vrrp.RejectMAC:       "the sender has another key, or somebody forges advertisements",
	vrrp.RejectStale:     "set the clocks of the nodes, then restart keepvip on the one that was wrong",
	vrrp.RejectReplay:    "somebody replays advertisements, or the sender's clock was set back: restart keepvip on this node",
	RejectSocket:         "nothing is heard on this interface; the error says why",
	vrrp.RejectSigned:    "the sender has a key; give it to this node, with key.mode receive-only at first",
}

// Rejection is what was refused of one sender for one reason.
type Rejection struct {
	Source    netip.Addr // the zero Addr when it is about the socket
	Reason    string     // short, fit for a label
	Permitted bool       // it was taken nevertheless, because the mode is not enforce
	Text      string     // the newest one that was logged, in full
	Remedy    string     // what an operator has to do; empty for nothing
	Count     uint64
	Last      time.Time
}

// Rejections counts what was not taken into account, remembers the newest of each sender and reason, and logs at most
// one line per sender and reason in a minute. Safe for concurrent use.
type Rejections struct {
	log      *slog.Logger
	what     string
	remedies map[string]string

	mu     sync.Mutex // guards what follows
	counts map[string]uint64
	list   []noted
	lines  Lines // by reason
}

type noted struct {
	Rejection
	logged time.Time
}

// NewRejections makes an empty record of advertisements that logs to log.
func NewRejections(log *slog.Logger) *Rejections { return NewRejectionsOf("advertisement", actOn, log) }

// NewRejectionsOf makes an empty record of something else, with what to do about each reason.
func NewRejectionsOf(what string, remedies map[string]string, log *slog.Logger) *Rejections {
	return &Rejections{log: log, what: what, remedies: remedies, counts: map[string]uint64{}}
}

// Add records a packet that was refused, err saying why in full; nil where the reason says all.
func (r *Rejections) Add(source netip.Addr, reason string, err error) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[reason]++
	n := r.find(source, reason)
	n.Count, n.Last = n.Count+1, now
	if !n.logged.IsZero() && now.Sub(n.logged) < logEvery {
		return
	}
	left, ok := r.lines.May(now, reason, maxLines)
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
	base, taken := strings.CutSuffix(reason, permitted)
	fresh := noted{Rejection: Rejection{Source: source, Reason: reason, Permitted: taken, Text: reason, Remedy: r.remedies[base]}}
	if len(r.list) < maxRejections {
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

func reasonOf(err error) string {
	var pe *vrrp.PacketError
	if errors.As(err, &pe) {
		return pe.Reason
	}
	return "other"
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
