package health

import "time"

const (
	// fastInterval is below which a check asks most of its questions on a connection that it has: a new one each time, with
	// its handshake, would cost both sides more than the answers are worth.
	fastInterval = 250 * time.Millisecond
	// newEvery is how long such a check trusts that new connections are still served.
	newEvery = 2 * time.Second
)

// reuse is the connection that a fast check asks on. A bad answer ends it, so that what follows is found out on new ones: each
// failure is one that a client that comes now would see.
type reuse struct {
	fast    bool
	allowed bool // somebody will call drop
	conn    *connection
	made    time.Time
}

func (u *reuse) wanted() bool { return u.fast && u.allowed }

// begin takes over a new connection; nil for none.
func (u *reuse) begin(conn *connection, now time.Time) {
	u.drop()
	u.conn, u.made = conn, now
}

// take gives the connection out, if it may be asked on once more.
func (u *reuse) take(now time.Time) *connection {
	if u.conn != nil && now.Sub(u.made) >= newEvery {
		u.drop()
	}
	conn := u.conn
	u.conn = nil
	return conn
}

// put takes it back; nil when the server has ended it.
func (u *reuse) put(conn *connection) { u.conn = conn }

func (u *reuse) drop() {
	if u.conn != nil {
		_ = u.conn.raw.Close() // nothing is under way
		u.conn = nil
	}
}
