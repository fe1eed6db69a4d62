package spreadtables

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/kernel/nfttables"
)

// contentsEvery is how often is looked at most into the tables, where others change theirs all the time: with seven members they have tens of
// thousands of elements.
const contentsEvery = 5 * time.Second

// Mend makes the tables anew if somebody has deleted them, or put others of the same name in their place, as the start of a firewall does that
// begins with an empty rule set; and if somebody has changed what is in them: a rule is another one, or a set has more or fewer elements. It
// says whether it did, or has done since it was asked last. As long as nobody changes anything it is one short question, which may be asked twice a second. It is an error before
// the first Apply.
func (t *Tables) Mend() (mended bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	mended, err = t.mend()
	mended, t.mended = mended || t.mended, false
	return mended, err
}

// follow mends what somebody has just changed. What is refused the next Mend says.
func (t *Tables) follow() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.applied == nil {
		return
	}
	mended, _ := t.mend()
	t.mended = t.mended || mended
}

func (t *Tables) mend() (mended bool, err error) {
	if t.applied == nil {
		return false, t.wrap("mend", errors.New("nothing was applied yet"))
	}
	n, err := t.conn.Generation()
	if err != nil || n == t.seen {
		return false, t.wrap("mend", err)
	}
	there, err := t.found()
	if err != nil {
		return false, t.wrap("mend", err)
	}
	same := maps.EqualFunc(there, t.made, func(a, b made) bool { return a.handle == b.handle })
	if same && nfttables.Owning() && !slices.ContainsFunc(slices.Collect(maps.Values(there)), func(m made) bool { return !m.owned }) {
		t.seen = n
		return false, nil
	}
	if now := time.Now(); same && now.Sub(t.looked) >= contentsEvery {
		if same, err = t.intact(now); err != nil {
			return false, t.wrap("mend", err)
		}
		if same {
			t.seen, t.looked = n, now
		}
	}
	if same {
		return false, nil
	}
	c := *t.applied
	c.Lifetime = max(time.Until(t.until), time.Second)
	if err := t.build(c); err != nil {
		return false, t.wrap("mend", err)
	}
	return true, nil
}

// made is what the kernel calls a table and the rules in it. What is made again is called otherwise.
type made struct {
	handle uint64
	owned  bool     // nobody else can change it
	rules  []string // in their order, each with its chain
}

// intact tells whether the tables have the rules that were made, and as many elements as they should.
func (t *Tables) intact(now time.Time) (bool, error) {
	for _, table := range t.applied.render(t.abilities) {
		rules, err := t.rules(table.family)
		if err != nil || !slices.Equal(rules, t.made[table.family].rules) {
			return false, err
		}
		for _, s := range table.sets {
			if s.timed && t.until.Sub(now) < time.Second { // nobody knows whether they have ended
				continue
			}
			count, err := t.count(table.family, s.name)
			if errors.Is(err, unix.ENOENT) {
				return false, nil
			}
			if err != nil || count != len(s.elements)+s.bySlot.count() {
				return false, err
			}
		}
	}
	return true, nil
}

// remember notes what was just made. What somebody has deleted in this very moment is missing for Mend.
func (t *Tables) remember(tables []table) error {
	t.made, t.seen, t.looked = map[byte]made{}, 0, time.Time{}
	for _, table := range tables {
		t.made[table.family] = made{}
	}
	there, err := t.found()
	if err != nil {
		return err
	}
	for _, table := range tables {
		m := there[table.family]
		if m.rules, err = t.rules(table.family); err != nil {
			return err
		}
		if len(m.rules) == table.rules() {
			t.made[table.family] = m
		}
	}
	return nil
}

// rules is how many there are in all chains.
func (t table) rules() (n int) {
	for _, c := range t.chains {
		n += len(c.rules)
	}
	return n
}

// changed has Mend look for nothing where the newest change was this one's own, and the only one since it has looked.
func (t *Tables) changed() {
	if n, err := t.conn.Generation(); err == nil && t.seen != 0 && n == t.seen+1 {
		t.seen = n
	}
}

// found are the tables that are there now, by family, without their rules.
func (t *Tables) found() (map[byte]made, error) {
	out := map[byte]made{}
	for family := range t.made {
		is, err := t.conn.Table(nfttables.ID{Family: family, Name: tablePrefix + t.name})
		switch {
		case errors.Is(err, unix.ENOENT):
		case err != nil:
			return nil, err
		default:
			out[family] = made{handle: is.Handle, owned: is.Mine}
		}
	}
	return out, nil
}

// rules are those of a table; none where it is gone.
func (t *Tables) rules(family byte) (out []string, err error) {
	err = t.list(unix.NFT_MSG_GETRULE, family, map[uint16]string{unix.NFTA_RULE_TABLE: tablePrefix + t.name}, func(in []byte) {
		out = append(out, string(nfttables.Attribute(in, unix.NFTA_RULE_CHAIN))+string(nfttables.Attribute(in, unix.NFTA_RULE_HANDLE)))
	})
	return out, err
}

// count is how many elements a set has.
func (t *Tables) count(family byte, set string) (n int, err error) {
	of := map[uint16]string{unix.NFTA_SET_ELEM_LIST_TABLE: tablePrefix + t.name, unix.NFTA_SET_ELEM_LIST_SET: set}
	err = t.list(unix.NFT_MSG_GETSETELEM, family, of, func(in []byte) {
		nfttables.EachAttribute(nfttables.Attribute(in, unix.NFTA_SET_ELEM_LIST_ELEMENTS), func(uint16, []byte) { n++ })
	})
	return n, err
}

// list asks for all that there is of something.
func (t *Tables) list(kind uint16, family byte, of map[uint16]string, each func(attributes []byte)) error {
	ae := netlink.NewAttributeEncoder()
	for attribute, value := range of {
		ae.String(attribute, value)
	}
	ask, err := ae.Encode()
	if err != nil {
		return err
	}
	return t.conn.Ask(kind, netlink.Dump, family, ask, func(_ uint16, in []byte) { each(in) })
}
