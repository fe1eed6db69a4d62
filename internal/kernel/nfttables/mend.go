package nfttables

import (
	"errors"
	"slices"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// contentsEvery is how often is looked at most into the tables, where others change theirs all the time: there may be
// tens of thousands of elements.
const contentsEvery = 5 * time.Second

// Mend makes the tables anew if somebody has deleted them, or put others of the same name in their place, as the start
// of a firewall does that begins with an empty rule set; and if somebody has changed what is in them: a rule is another
// one, or a set has more or fewer elements. It says whether that was done since it was asked last. As long as nobody
// changes anything it is one short question, which may be asked twice a second. It is an error before the first Apply.
func (k *Keeper) Mend() (mended bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	mended, err = k.mend()
	mended, k.mended = mended || k.mended, false
	return mended, err
}

// follow mends what somebody has just changed. What is refused the next Mend says.
func (k *Keeper) follow() {
	k.mu.Lock()
	defer k.mu.Unlock()
	mended, _ := k.mend()
	k.mended = k.mended || mended
}

func (k *Keeper) mend() (mended bool, err error) {
	if k.wanted == nil {
		return false, errNothing
	}
	n, err := k.conn.Generation()
	if err != nil || n == k.seen {
		return false, err
	}
	same, owned, err := k.there()
	if err != nil {
		return false, err
	}
	if same && owned {
		k.seen = n
		return false, nil
	}
	if now := time.Now(); same && now.Sub(k.looked) >= contentsEvery {
		if same, err = k.intact(now); err != nil {
			return false, err
		}
		if same {
			k.seen, k.looked = n, now
		}
	}
	if same {
		return false, nil
	}
	err = k.build(*k.wanted, max(time.Until(k.until), time.Second))
	return err == nil, err
}

// made is what the kernel calls a table and the rules in it. What is made again is called otherwise.
type made struct {
	handle uint64
	rules  []string // in their order, each with its chain
}

// there tells whether the tables are those that were made, and whether nobody else can have changed them.
func (k *Keeper) there() (same, owned bool, err error) {
	owned = true
	for family, m := range k.made {
		is, err := k.conn.Table(ID{family, k.name})
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return false, false, err
		}
		if err != nil || is.Handle != m.handle {
			return false, false, nil
		}
		owned = owned && is.Mine
	}
	return true, owned, nil
}

// intact tells whether the tables have the rules that were made, and as many elements as they should.
func (k *Keeper) intact(now time.Time) (bool, error) {
	for _, t := range k.wanted.Render(k.form) {
		rules, err := k.rules(t.Family)
		if err != nil || !slices.Equal(rules, k.made[t.Family].rules) {
			return false, err
		}
		for _, s := range t.Sets {
			if s.Dynamic || s.Timed && k.until.Sub(now) < time.Second { // nobody knows which there are
				continue
			}
			count, err := k.count(t.Family, s.Name)
			if errors.Is(err, unix.ENOENT) {
				return false, nil
			}
			if err != nil || count != len(s.Elements)+s.BySlot.count() {
				return false, err
			}
		}
	}
	return true, nil
}

// remember notes what was just made. What somebody has deleted in this very moment is missing for Mend.
func (k *Keeper) remember(tables []Table) error {
	k.made, k.seen, k.looked = map[byte]made{}, 0, time.Time{}
	for _, t := range tables {
		k.made[t.Family] = made{}
		is, err := k.conn.Table(ID{t.Family, k.name})
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return err
		}
		rules, err := k.rules(t.Family)
		if err != nil {
			return err
		}
		if len(rules) == t.rules() {
			k.made[t.Family] = made{is.Handle, rules}
		}
	}
	return nil
}

// rules is how many there are in all chains.
func (t Table) rules() (n int) {
	for _, c := range t.Chains {
		n += len(c.Rules)
	}
	return n
}

// rules are those of a table; none where it is gone.
func (k *Keeper) rules(family byte) (out []string, err error) {
	err = k.list(unix.NFT_MSG_GETRULE, family, map[uint16]string{unix.NFTA_RULE_TABLE: k.name}, func(in []byte) {
		out = append(out, string(attribute(in, unix.NFTA_RULE_CHAIN))+string(attribute(in, unix.NFTA_RULE_HANDLE)))
	})
	return out, err
}

// count is how many elements a set has.
func (k *Keeper) count(family byte, set string) (n int, err error) {
	of := map[uint16]string{unix.NFTA_SET_ELEM_LIST_TABLE: k.name, unix.NFTA_SET_ELEM_LIST_SET: set}
	err = k.list(unix.NFT_MSG_GETSETELEM, family, of, func(in []byte) {
		eachAttribute(attribute(in, unix.NFTA_SET_ELEM_LIST_ELEMENTS), func(uint16, []byte) { n++ })
	})
	return n, err
}

// list asks for all that there is of something.
func (k *Keeper) list(kind uint16, family byte, of map[uint16]string, each func(attributes []byte)) error {
	ae := netlink.NewAttributeEncoder()
	for attribute, value := range of {
		ae.String(attribute, value)
	}
	ask, err := ae.Encode()
	if err != nil {
		return err
	}
	return k.conn.Ask(kind, netlink.Dump, family, ask, func(_ uint16, in []byte) { each(in) })
}
