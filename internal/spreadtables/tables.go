package spreadtables

import (
	"errors"
	"time"
)

// Tables are the nftables tables of one entry. The methods may be called from any goroutine.
type Tables struct {
	name string
}

var errNotYet = errors.New("spreadtables: not there yet")

// Open takes charge of the tables of that entry, and changes nothing yet: those that an earlier run has left go on until Apply replaces
// them, in one transaction, or until their lifetime is over.
func Open(name string) (*Tables, error) { return &Tables{name: name}, nil }

// Apply makes the tables what the configuration says: in one transaction, and with what differs. The same again changes nothing. No
// connection in translation ends by it.
func (t *Tables) Apply(Config) error { return errNotYet }

// Renew has them go on for that time from now. It makes them anew if somebody has deleted them, and is an error before the first Apply.
func (t *Tables) Renew(time.Duration) error { return errNotYet }

// Abilities are those of the kernel, as far as known from the last Apply.
func (t *Tables) Abilities() Abilities { return Abilities{} }

// Connections is how many connections of clients to the ports that are spread this node has, by its connection tracking.
func (t *Tables) Connections() (int, error) { return 0, errNotYet }

// Leave lets go of the tables and leaves them as they are, for a next run to take over or for their lifetime to end.
func (t *Tables) Leave() {}

// Close takes the tables away. Connections that they translate end by it, unless another table translates addresses here, too.
func (t *Tables) Close() error { return nil }

// Cleanup takes away the tables of every entry that any run has left in this network namespace, but for those to keep, and returns them, as
// "netdev keepvip-spread-api". Tables of others are not touched.
func Cleanup(keep ...string) ([]string, error) { return nil, nil }
