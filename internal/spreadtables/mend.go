package spreadtables

import (
	"encoding/binary"
	"errors"
	"maps"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Mend makes the tables anew if somebody has deleted them, or put others of the same name in their place, as the start of a firewall does that
// begins with an empty rule set. It says whether it did. As long as nobody changes anything it is one short question, which may be asked
// twice a second. It is an error before the first Apply.
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
	if mended = !maps.Equal(there, t.made); mended {
		if err := t.build(*t.applied); err != nil {
			return false, t.wrap("mend", err)
		}
		return true, nil
	}
	t.seen = n
	return false, nil
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

// tableHandle is NFTA_TABLE_HANDLE.
const tableHandle = 4

// found are the tables that are there now: the handle of each by its family. A table that is made again has another.
func (t *Tables) found() (map[byte]string, error) {
	handles := map[byte]string{}
	for family := range t.made {
		b, err := t.ask(unix.NFT_MSG_GETTABLE, family, func(ae *netlink.AttributeEncoder) {
			ae.String(unix.NFTA_TABLE_NAME, tablePrefix+t.name)
		})
		switch {
		case errors.Is(err, unix.ENOENT):
		case err != nil:
			return nil, err
		default:
			handles[family] = string(attribute(b, tableHandle))
		}
	}
	return handles, nil
}

// ask asks one question, and returns the attributes of the answer.
func (t *Tables) ask(kind int, family byte, what func(*netlink.AttributeEncoder)) ([]byte, error) {
	b := t.batch()
	b.add(kind, 0, family, what)
	if b.err != nil {
		return nil, b.err
	}
	if err := t.open(); err != nil {
		return nil, err
	}
	answer, err := t.conn.Execute(b.messages[0])
	if err != nil {
		t.close()
		return nil, err
	}
	if len(answer) == 0 || len(answer[0].Data) < 4 {
		return nil, errors.New("an empty answer")
	}
	return answer[0].Data[4:], nil
}

// attribute is the data of a netlink attribute in attributes; nil if there is none.
func attribute(in []byte, want uint16) []byte {
	const header = 4
	for len(in) >= header {
		length, kind := int(binary.NativeEndian.Uint16(in)), binary.NativeEndian.Uint16(in[2:])&^(unix.NLA_F_NESTED|unix.NLA_F_NET_BYTEORDER)
		if length < header || length > len(in) {
			return nil
		}
		if kind == want {
			return in[header:length]
		}
		in = in[min((length+3)&^3, len(in)):]
	}
	return nil
}
