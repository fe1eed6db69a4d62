package localconn

import (
	"errors"

	"github.com/keepvip/keepvip/internal/kernel/conntrack"
	"github.com/keepvip/keepvip/internal/kernel/link"
)

// Ended is what End did.
type Ended struct {
	// Sockets were closed: the program that has one gets ECONNABORTED at once.
	Sockets int
	// Entries of connection tracking were deleted instead: of a connection that was not answered yet, whose next SYN goes to another
	// server; of one whose program is in another network namespace, as a pod's, or on a kernel that cannot close a socket: what it
	// sends next goes to the virtual address, and is answered by a reset; and of flows of UDP.
	Entries int
}

// End ends connections, each known by what connection tracking says of it.
func End(tracking *conntrack.Conn, entries []conntrack.Entry) (ended Ended, err error) {
	var open []link.Connection
	for _, e := range entries {
		if e.Open() {
			open = append(open, socketOf(e))
		}
	}
	closed := map[link.Connection]bool{}
	if len(open) > 0 {
		var done []link.Connection
		if done, err = link.DestroyTCP(open); errors.Is(err, link.ErrNoDestroy) {
			err = nil
		}
		for _, c := range done {
			closed[c] = true
		}
	}
	ended.Sockets = len(closed)
	for _, e := range entries {
		if e.Open() && closed[socketOf(e)] {
			continue
		}
		if deleteErr := tracking.Delete(e); deleteErr != nil {
			err = errors.Join(err, deleteErr)
			continue
		}
		ended.Entries++
	}
	return ended, err
}

func socketOf(e conntrack.Entry) link.Connection {
	return link.Connection{Local: e.Source, Remote: e.Dest}
}
