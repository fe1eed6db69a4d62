package nfttables

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Keeper keeps the tables of one name in the kernel as they should be, for as long as somebody renews them: what
// somebody else takes away or changes is made anew. The methods may be called from any goroutine; each may take as long
// as the kernel does.
type Keeper struct {
	name     string
	families []byte // in which there may be tables of that name: any others there are of an earlier run
	forms    int    // how many renderings there are of what is wanted

	mu     sync.Mutex // guards what follows
	conn   Conn
	wanted *Wanted // nil: it is not known what the kernel has
	form   int     // of it
	timed  []Table
	made   map[byte]made // by family
	seen   uint32        // the newest generation of nftables in which all was as it should be; 0: none
	looked time.Time     // when that was
	until  time.Time     // when the first of the timed elements end
	mended bool          // since Mend was asked last

	unfollow func() // ends the look after changes of others; set once
}

// Wanted is what the tables are to be.
type Wanted struct {
	// Render makes them in one of its forms, the same each time.
	Render func(form int) []Table
	// Ready is asked before there are tables anew, and says why there can be none; nil: there can always be.
	Ready func(*Conn) error
}

func (w Wanted) ready(c *Conn) error {
	if w.Ready == nil {
		return nil
	}
	return w.Ready(c)
}

// Keep takes charge of the tables of that name in these families, and changes nothing yet: those that an earlier run
// has left go on until Apply replaces them, in one transaction, or until their time is over. There are so many forms of
// what is wanted, and the first that the kernel can do is used. The watch tells of what others do; nil: only Mend and
// Renew look.
func Keep(name string, families []byte, forms int, watch *Watch) (*Keeper, error) {
	if name == "" || len(name) > unix.NFT_NAME_MAXLEN-1 {
		return nil, fmt.Errorf("nfttables: table %q: want a name of 1 to %d bytes", name, unix.NFT_NAME_MAXLEN-1)
	}
	k := &Keeper{name: name, families: families, forms: forms}
	k.unfollow = watch.Follow(k.follow)
	return k, nil
}

// Apply makes the tables what is wanted: in one transaction, and with what differs. The same again changes nothing. A
// table of which more than elements differs is made anew. Timed elements that come with it last for the lifetime, at
// least a millisecond.
func (k *Keeper) Apply(wanted Wanted, lifetime time.Duration) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.wanted != nil {
		done, err := k.change(wanted, lifetime)
		if done || err != nil {
			return err
		}
	}
	return k.build(wanted, lifetime)
}

// change is Apply where there are tables already; it is not done where all of them have to be made anew: another one is
// of another family, or somebody has changed them, or the kernel cannot do what is new.
func (k *Keeper) change(wanted Wanted, lifetime time.Duration) (done bool, err error) {
	after := wanted.Render(k.form)
	changes, anew, same := difference(k.wanted.Render(k.form), after)
	if !same {
		return false, nil
	}
	if len(anew) > 0 {
		if err := wanted.ready(&k.conn); err != nil {
			return false, err
		}
	}
	err = k.commit(k.differing(changes, anew, lifetime))
	if Lacks(err) || errors.Is(err, unix.EEXIST) {
		return false, nil
	}
	if err == nil && len(anew) > 0 {
		err = k.remember(after)
	}
	if err != nil {
		return false, err
	}
	k.wanted, k.timed = &wanted, timedOf(after)
	return true, nil
}

// errNothing is for who asks too early.
var errNothing = errors.New("nothing was applied yet")

// Renew has timed elements last for that time from now. It makes the tables anew where one of them is gone. It also does
// what Mend does: the watch tells of a change once, which may be too early for a look into the tables. It is an error
// before the first Apply.
func (k *Keeper) Renew(lifetime time.Duration) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.wanted == nil {
		return errNothing
	}
	b := k.batch()
	for _, t := range k.timed {
		for _, s := range t.Sets {
			// Before Linux 6.12 adding an element again does not start its time again.
			b.empty(t.Family, s)
			b.elements(unix.NFT_MSG_NEWSETELEM, t.Family, s, s.Elements, lifetime)
		}
	}
	until := time.Now().Add(lifetime)
	err := k.commit(b)
	if errors.Is(err, unix.ENOENT) {
		return k.build(*k.wanted, lifetime)
	}
	if err != nil {
		return err
	}
	k.until = until
	mended, err := k.mend()
	k.mended = k.mended || mended
	return err
}

// Form is that of the last Apply.
func (k *Keeper) Form() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.form
}

// Leave lets go of the tables, for good, and leaves them as they are, for a next run to take over or for their time to
// end.
func (k *Keeper) Leave() {
	k.unfollow()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.conn.Close()
	k.wanted = nil
}

// Close takes the tables away, for good.
func (k *Keeper) Close() error {
	k.Leave() // then nobody owns them
	_, err := Delete(k.families, func(_ byte, name string) bool { return name == k.name })
	return err
}

// build replaces all tables of the name, those of an earlier run, too, in one transaction.
func (k *Keeper) build(wanted Wanted, lifetime time.Duration) error {
	k.wanted = nil
	if len(wanted.Render(k.form)) > 0 {
		if err := wanted.ready(&k.conn); err != nil {
			return err
		}
	}
	left, err := k.conn.there(k.families, k.name)
	if err != nil {
		return err
	}
	until := time.Now().Add(lifetime)
	var tables []Table
	form := 0
	for ; form < k.forms; form++ {
		tables = wanted.Render(form)
		if err = k.replace(tables, left, lifetime); !Lacks(err) {
			break
		}
	}
	if err != nil {
		return err
	}
	if err := k.remember(tables); err != nil {
		return err
	}
	k.wanted, k.form, k.timed, k.until = &wanted, form, timedOf(tables), until
	return nil
}

func (k *Keeper) replace(tables []Table, left []byte, lifetime time.Duration) error {
	b := k.batch()
	for _, family := range left {
		if !slices.ContainsFunc(tables, func(t Table) bool { return t.Family == family }) {
			b.remove(family)
		}
	}
	for _, t := range tables {
		b.replace(t, lifetime)
	}
	return k.commit(b)
}

func (k *Keeper) differing(changes []change, anew []Table, lifetime time.Duration) *batch {
	b := k.batch()
	for _, t := range anew {
		b.replace(t, lifetime)
	}
	for _, c := range changes {
		b.elements(unix.NFT_MSG_DELSETELEM, c.family, c.set, c.removed, 0)
		b.elements(unix.NFT_MSG_NEWSETELEM, c.family, c.set, c.added, lifetime)
		b.slots(unix.NFT_MSG_DELSETELEM, c.family, c.set, c.gone)
		b.slots(unix.NFT_MSG_NEWSETELEM, c.family, c.set, c.put)
	}
	return b
}

// timedOf are the sets of tables whose elements end by themselves, and were put there by the Keeper.
func timedOf(tables []Table) (out []Table) {
	for _, t := range tables {
		sets := slices.DeleteFunc(slices.Clone(t.Sets), func(s Set) bool { return !s.Timed || s.Dynamic })
		out = append(out, Table{Family: t.Family, Sets: sets})
	}
	return out
}

func (k *Keeper) batch() *batch { return &batch{name: k.name} }

func (k *Keeper) commit(b *batch) error {
	if b.err != nil || len(b.messages) == 0 {
		return b.err
	}
	if err := k.conn.Commit(b.messages); err != nil {
		return err
	}
	// Mend has nothing to look for where the newest change was this one, and the only one since it has looked.
	if n, err := k.conn.Generation(); err == nil && k.seen != 0 && n == k.seen+1 {
		k.seen = n
	}
	return nil
}
