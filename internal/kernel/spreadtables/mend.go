package spreadtables

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// contentsEvery is how often is looked at most into the tables, where others change theirs all the time: with seven members they have tens of
// thousands of elements.
const contentsEvery = 5 * time.Second

// Mend makes the tables anew if somebody has deleted them, or put others of the same name in their place, as the start of a firewall does that
// begins with an empty rule set; and if somebody has changed what is in them: a rule is another one, or a set has more or fewer elements. It
// says whether it did. As long as nobody changes anything it is one short question, which may be asked twice a second. It is an error before
// the first Apply.
func (t *Tables) Mend() (mended bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.applied == nil {
		return false, t.wrap("mend", errors.New("nothing was applied yet"))
	}
	n, err := t.generation()
	if err != nil || n == t.seen {
		return false, t.wrap("mend", err)
	}
	there, err := t.found()
	if err != nil {
		return false, t.wrap("mend", err)
	}
	same := maps.EqualFunc(there, t.made, func(a, b made) bool { return a.handle == b.handle })
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
	handle string
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

// generation is a number that every change of any nftables table in this network namespace adds one to.
func (t *Tables) generation() (uint32, error) {
	b, err := t.ask(unix.NFT_MSG_GETGEN, unix.AF_UNSPEC, func(*netlink.AttributeEncoder) {})
	if err != nil {
		return 0, err
	}
	if id := attribute(b, unix.NFTA_GEN_ID); len(id) == 4 {
		return binary.BigEndian.Uint32(id), nil
	}
	return 0, errors.New("the kernel does not say how often nftables was changed")
}

// changed has Mend look for nothing where the newest change was this one's own, and the only one since it has looked.
func (t *Tables) changed() {
	if n, err := t.generation(); err == nil && t.seen != 0 && n == t.seen+1 {
		t.seen = n
	}
}

// tableHandle is NFTA_TABLE_HANDLE.
const tableHandle = 4

// found are the tables that are there now, by family, without their rules.
func (t *Tables) found() (map[byte]made, error) {
	out := map[byte]made{}
	for family := range t.made {
		b, err := t.ask(unix.NFT_MSG_GETTABLE, family, func(ae *netlink.AttributeEncoder) {
			ae.String(unix.NFTA_TABLE_NAME, tablePrefix+t.name)
		})
		switch {
		case errors.Is(err, unix.ENOENT):
		case err != nil:
			return nil, err
		default:
			out[family] = made{handle: string(attribute(b, tableHandle))}
		}
	}
	return out, nil
}

// rules are those of a table; none where it is gone.
func (t *Tables) rules(family byte) (out []string, err error) {
	answers, err := t.list(unix.NFT_MSG_GETRULE, family, func(ae *netlink.AttributeEncoder) {
		ae.String(unix.NFTA_RULE_TABLE, tablePrefix+t.name)
	})
	for _, b := range answers {
		out = append(out, string(attribute(b, unix.NFTA_RULE_CHAIN))+string(attribute(b, unix.NFTA_RULE_HANDLE)))
	}
	return out, err
}

// count is how many elements a set has.
func (t *Tables) count(family byte, set string) (n int, err error) {
	answers, err := t.list(unix.NFT_MSG_GETSETELEM, family, func(ae *netlink.AttributeEncoder) {
		ae.String(unix.NFTA_SET_ELEM_LIST_TABLE, tablePrefix+t.name)
		ae.String(unix.NFTA_SET_ELEM_LIST_SET, set)
	})
	for _, b := range answers {
		eachAttribute(attribute(b, unix.NFTA_SET_ELEM_LIST_ELEMENTS), func(uint16, []byte) { n++ })
	}
	return n, err
}

// ask asks one question, and returns the attributes of the answer.
func (t *Tables) ask(kind int, family byte, what func(*netlink.AttributeEncoder)) ([]byte, error) {
	answers, err := t.questions(kind, 0, family, what)
	if err == nil && len(answers) == 0 {
		return nil, errors.New("an empty answer")
	}
	if err != nil {
		return nil, err
	}
	return answers[0], nil
}

// list asks for all that there is of something.
func (t *Tables) list(kind int, family byte, what func(*netlink.AttributeEncoder)) ([][]byte, error) {
	return t.questions(kind, netlink.Dump, family, what)
}

func (t *Tables) questions(kind int, flags netlink.HeaderFlags, family byte, what func(*netlink.AttributeEncoder)) (out [][]byte, err error) {
	b := t.batch()
	b.add(kind, flags, family, what)
	if b.err != nil {
		return nil, b.err
	}
	if err := t.open(); err != nil {
		return nil, err
	}
	answers, err := t.conn.Execute(b.messages[0])
	if err != nil {
		t.close()
		return nil, err
	}
	for _, a := range answers {
		if len(a.Data) >= 4 {
			out = append(out, a.Data[4:])
		}
	}
	return out, nil
}

// attribute is the data of one in attributes; nil if there is none.
func attribute(in []byte, want uint16) (out []byte) {
	eachAttribute(in, func(kind uint16, data []byte) {
		if kind == want {
			out = data
		}
	})
	return out
}

// eachAttribute goes through attributes, which the kernel has made.
func eachAttribute(in []byte, do func(kind uint16, data []byte)) {
	const header = 4
	for len(in) >= header {
		length, kind := int(binary.NativeEndian.Uint16(in)), binary.NativeEndian.Uint16(in[2:])&^(unix.NLA_F_NESTED|unix.NLA_F_NET_BYTEORDER)
		if length < header || length > len(in) {
			return
		}
		do(kind, in[header:length])
		in = in[min((length+3)&^3, len(in)):]
	}
}
