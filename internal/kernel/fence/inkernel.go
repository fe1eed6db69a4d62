package fence

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/nftables"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/kernel/nfttables"
)

// inKernel is what of a fence is in the kernel: its tables, the way to them, and whether anybody else has changed them. It is told what they
// are to be, and keeps nothing of that.
type inKernel struct {
	tables      tables
	socket      sockets
	generations generations
	made        map[nfttables.ID]uint64 // the handles of the tables, where nobody can own them
}

// linkName is how the link is called now.
func (k *inKernel) linkName() (string, error) {
	name, err := k.socket.LinkName(k.tables.link.index)
	if errors.Is(err, unix.ENODEV) {
		return "", errGone
	}
	return name, err
}

// commit carries out a transaction: all of it, or nothing. It notes that all is well if it was and nobody else has changed anything since.
func (k *inKernel) commit(build func(*nftables.Conn) error) error {
	if err := k.socket.transact(build); err != nil {
		k.tables.failed()
		return err
	}
	if now, err := k.socket.Generation(); err == nil {
		k.generations.committed(now)
	}
	if !nfttables.Owning() {
		k.remember()
	}
	return nil
}

// remember notes which tables were made. One that somebody has deleted in this very moment is missing for present.
func (k *inKernel) remember() {
	k.made = map[nfttables.ID]uint64{}
	for _, id := range k.tables.ids() {
		if s, err := k.socket.Table(id); err == nil {
			k.made[id] = s.Handle
		}
	}
}

// present is nil if the tables are there that were made.
func (k *inKernel) present() error {
	for _, id := range k.tables.ids() {
		if s, err := k.socket.Table(id); err != nil {
			return fmt.Errorf("%w: table %s: %w", errBroken, id, err)
		} else if s.Handle != k.made[id] {
			return fmt.Errorf("%w: table %s is another one", errBroken, id)
		}
	}
	return nil
}

// owned reports whether the kernel lets nobody else change the tables.
func (k *inKernel) owned() bool {
	if !nfttables.Owning() {
		return false
	}
	for _, id := range k.tables.ids() {
		if s, err := k.socket.Table(id); err != nil || !s.Mine {
			return false
		}
	}
	return true
}

// inspect compares all that the kernel has with what it should be, unless nobody but this fence has changed anything since all was well.
func (k *inKernel) inspect(w *wanted) error {
	now, err := k.socket.Generation()
	if err != nil {
		return err
	}
	if !k.generations.unchanged(now) {
		c, err := k.socket.lists()
		if err == nil {
			err = inspector{c, &k.tables, w}.all()
		}
		if err != nil {
			k.socket.endLists()
			return fmt.Errorf("%w: %w", errBroken, err)
		}
	}
	k.generations.verified(now)
	return nil
}

// fill makes as much of the tables as the kernel can.
func (k *inKernel) fill(w *wanted, leaseEnds map[uint32]time.Time) (err error) {
	before := k.tables.abilities()
	for _, a := range allAbilities {
		if a.egress && !before.egress || a.routes && !before.routes || a.arp && !before.arp {
			continue // known not to be there
		}
		k.tables.use(a)
		if err = k.commit(func(c *nftables.Conn) error { return k.tables.fill(c, w, leaseEnds) }); err == nil || !nfttables.Lacks(err) {
			break
		}
	}
	if err != nil {
		k.tables.use(before)
	}
	return err
}

// renew has a group's lease begin again.
func (k *inKernel) renew(id uint32, left time.Duration) error {
	err := k.socket.renew(k.tables.link.table.Name, leaseOf(id), k.tables.link.key(), left)
	if err != nil {
		k.tables.failed()
		return err
	}
	k.generations.renewed()
	return nil
}

// cut ends leases. One that an advertisement has just renewed begins again with the next.
func (k *inKernel) cut(ids []uint32) error {
	if len(ids) == 0 {
		return nil
	}
	return k.commit(func(c *nftables.Conn) error { return k.tables.link.cut(c, ids) })
}
