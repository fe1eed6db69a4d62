package virtualrouter

import (
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/keepvip/keepvip/election"
)

// unsentTo is why an advertisement did not leave to a peer.
type unsentTo struct {
	peer netip.Addr
	err  error
}

// unsent keeps which peers the kernel refuses to send to while it sends to others. Safe for concurrent use.
type unsent struct {
	log *slog.Logger

	mu     sync.Mutex // guards what follows
	count  uint64     // advertisements
	newest []unsentTo // of the newest advertisement
	lines  election.Lines
}

// note takes in an advertisement that has left to somebody, but not to these. They may be a hundred a second.
func (u *unsent) note(now time.Time, list []unsentTo) {
	u.mu.Lock()
	defer u.mu.Unlock()
	before := len(u.newest)
	u.newest = list
	if len(list) > 0 {
		u.count++
	}
	switch {
	case len(list) > 0:
		if left, ok := u.lines.May(now, "refused", 1); ok {
			u.log.Warn("the kernel refuses to send advertisements to some of the peers, which may take the address as well: "+
				"let protocol 112 (VRRP) out to them in this node's firewall, and see that there is a route to each",
				election.LeftOut([]any{"peers", joinPeers(list), "error", list[0].err}, left)...)
		}
	case before > 0:
		if left, ok := u.lines.May(now, "again", 1); ok {
			u.log.Info("advertisements are sent to all peers again", election.LeftOut(nil, left)...)
		}
	}
}

func joinPeers(list []unsentTo) string {
	var out []string
	for _, r := range list {
		out = append(out, r.peer.String())
	}
	return strings.Join(out, ", ")
}

// get returns how many advertisements have left to some of the peers only, and to whom the newest did not, and why.
func (u *unsent) get() (uint64, map[netip.Addr]error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	refused := map[netip.Addr]error{}
	for _, r := range u.newest {
		refused[r.peer.WithZone("")] = r.err
	}
	return u.count, refused
}
