package convert

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keepvip/keepvip/internal/tools/keepalived"
	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
)

// hmac is the block auth_hmac of keepalived 2.4, which the model of 2.2.7 does not know. The keys themselves are only looked at for [Options.InMemory].
type hmac struct {
	at     syntax.Origin
	keys   []hmacKey
	active string
	mode   string
	window time.Duration // 0: keepalived's default
	lines  map[string]syntax.Origin
}

type hmacKey struct {
	id    string
	value string // hex:DIGITS, file:PATH, or the key itself
	at    syntax.Origin
}

// key writes the shared key of all instances. keepvip signs for all entries or for none, with one key.
func (c *converter) key(doc *syntax.Document) {
	blocks := hmacBlocks(doc.Nodes)
	if len(blocks) == 0 {
		return
	}
	first := blocks[0]
	const remedy = "give all instances the same block, or remove them for the conversion, and write key: {file: PATH, id: ID} by hand (docs/authentication.md)"
	same := func(n *syntax.Node) bool {
		return slices.EqualFunc(n.Children, first.Children, func(a, b *syntax.Node) bool { return slices.Equal(a.Words, b.Words) })
	}
	if i := slices.IndexFunc(blocks, func(n *syntax.Node) bool { return !same(n) }); i >= 0 {
		c.refuse(blocks[i].At, "this auth_hmac is another than the first: keepvip has one key for all entries", remedy)
		return
	}
	if len(blocks) != len(c.cfg.Instances) {
		c.refuse(first.At, "auth_hmac in some instances and not in others: keepvip signs for all entries, or for none", remedy)
		return
	}
	h, why := readHMAC(first)
	if why != "" {
		c.refuse(first.At, "auth_hmac: "+why, remedy)
		return
	}
	c.writeKey(h)
}

func hmacBlocks(nodes []*syntax.Node) (out []*syntax.Node) {
	for _, n := range nodes {
		if n.Block && n.Words[0] == "vrrp_instance" {
			for _, b := range n.Children {
				if b.Words[0] == "auth_hmac" {
					out = append(out, b)
				}
			}
		}
	}
	return out
}

// readHMAC reads a block; why says what of it keepvip has not.
func readHMAC(n *syntax.Node) (h hmac, why string) {
	h = hmac{at: n.At, mode: "enforce", lines: map[string]syntax.Origin{}}
	for _, l := range n.Children {
		h.lines[l.Words[0]] = l.At
		value := slices.Concat(l.Words[1:], []string{""})[0]
		switch l.Words[0] {
		case "key":
			id, err := strconv.ParseUint(value, 10, 8)
			if err != nil || len(l.Words) < 3 {
				return h, "a key without a number from 0 to 255"
			}
			h.keys = append(h.keys, hmacKey{strconv.FormatUint(id, 10), l.Words[2], l.At})
		case "active_key":
			h.active = value
			if id, err := strconv.ParseUint(value, 10, 8); err == nil {
				h.active = strconv.FormatUint(id, 10) // 02 is 2
			}
		case "mode":
			h.mode = value
		case "time_window":
			seconds, err := strconv.ParseUint(value, 10, 16)
			if err != nil || seconds == 0 || seconds > 3600 {
				return h, "a time_window that is no number of seconds"
			}
			h.window = time.Duration(seconds) * time.Second
		case "anti_replay":
		default:
			return h, plain(l.Words[0]) + " is unknown"
		}
	}
	return h, h.wrong()
}

func (h *hmac) wrong() string {
	switch {
	case len(h.keys) == 0:
		return "no key"
	case h.active == "" && len(h.keys) > 1:
		return "several keys, and no active_key"
	case h.active != "" && h.signer() < 0:
		return "an active_key that is not among the keys"
	case !slices.Contains([]string{"enforce", "permissive", "receive-only"}, h.mode):
		return "the mode " + plain(h.mode)
	}
	return ""
}

// signer is the place of the key that signs.
func (h *hmac) signer() int {
	if h.active == "" {
		return 0
	}
	return slices.IndexFunc(h.keys, func(k hmacKey) bool { return k.id == h.active })
}

func (c *converter) writeKey(h hmac) {
	path := func(k hmacKey) string { return strings.TrimSuffix(c.opt.Secrets, "/") + "/key." + k.id }
	if c.opt.InMemory {
		path = c.holdKey
	}
	signs := h.signer()
	c.out.open("key", source{h.at, "auth_hmac"})
	c.out.set("key.file", path(h.keys[signs]), placed(h.keys[signs].at))
	c.out.set("key.id", word(h.keys[signs].id), placed(h.keys[signs].at))
	if len(h.keys) > 1 {
		c.out.open("key.accept", nowhere)
	}
	for i, k := range h.keys {
		if i != signs {
			c.out.add("key.accept", k.id+"="+path(k), placed(k.at))
		}
		if c.opt.InMemory {
			continue
		}
		c.say(keepalived.Warning, codeSecret, k.at, fmt.Sprintf("the key is not written here: keepvip reads it from %s", path(k)),
			"write its 32 to 64 bytes into that file in hex or base64, with mode 0600 and owner root, on each node; keepvip key fingerprint tells whether they are the same")
	}
	if h.mode != "enforce" {
		c.out.set("key.mode", h.mode, placed(h.lines["mode"]))
	}
	if h.window > 0 {
		c.out.set("key.window", h.window, placed(h.lines["time_window"]))
	} else {
		c.say(keepalived.Note, codeChanged, h.at, "time_window: keepvip's default is 10 s, and keepalived's is three intervals, 5 s at least", "")
	}
	if at, ok := h.lines["anti_replay"]; ok {
		c.note(at, "anti_replay: keepvip refuses what was sent before by both clocks")
	}
}
