package raft

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/base/printable"
)

// What members ask each other beside raft, one at a time on a connection: a length of four bytes, big endian, and JSON.
const (
	askHello   = "hello"   // how are you?
	askRelease = "release" // the sender lets go in favour of another
	askJoin    = "join"    // the sender wants to be a member
	askBack    = "back"    // the sender wants to lead again, as an operator wants it
	askChange  = "change"  // an operator wants another one to be, or not to be
)

// What an operator wants of a member.
const (
	OpAdd    = "add"
	OpRemove = "remove"
)

// maxFrame bounds a message in bytes, before it is read.
const maxFrame = 64 << 10

// message is a question, or the answer to one.
type message struct {
	Kind string     `json:"kind,omitempty"`
	From netip.Addr `json:"from"`
	ID   string     `json:"id,omitempty"`

	// Of hello, in both directions.
	Formed    bool          `json:"formed,omitempty"` // it has taken part in an election, or knows of one
	Seeded    bool          `json:"seeded,omitempty"` // it is ready to take part
	List      string        `json:"list,omitempty"`   // digest of its raft.peers
	Term      uint64        `json:"term,omitempty"`
	Last      uint64        `json:"last,omitempty"` // index of its newest entry
	State     string        `json:"state,omitempty"`
	Leader    netip.Addr    `json:"leader,omitzero"`
	Priority  uint8         `json:"priority,omitempty"` // effective; 0: never holds
	Reason    string        `json:"reason,omitempty"`   // why it is not at its best; of release: why it lets go
	Code      code.Code     `json:"code,omitempty"`     // of Reason
	Witness   bool          `json:"witness,omitempty"`
	Holds     bool          `json:"holds,omitempty"` // an address may be bound there
	Heartbeat time.Duration `json:"heartbeat,omitempty"`
	Excluded  bool          `json:"excluded,omitempty"`  // in an answer: the asker is no member as far as I know
	Node      string        `json:"node,omitempty"`      // its name, at most maxName bytes that can be printed, as those of Software
	Software  string        `json:"software,omitempty"`  // the version of its program
	Unreached []unreached   `json:"unreached,omitempty"` // to which holder its connections to the addresses do not come, at most maxSpread of them
	Spread    []spread      `json:"spread,omitempty"`    // how it spreads the load of the addresses, at most maxSpread of them

	To      string     `json:"to,omitempty"`     // of release
	Op      string     `json:"op,omitempty"`     // of change
	Subject netip.Addr `json:"subject,omitzero"` // of change
	Error   string     `json:"error,omitempty"`  // of an answer
	Retry   bool       `json:"retry,omitempty"`  // of an answer: it may be different in a moment
}

// readMessage reads one, looking at nothing before its length is known to be within bounds.
func readMessage(r io.Reader) (message, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return message{}, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n == 0 || n > maxFrame {
		return message{}, fmt.Errorf("raft: message of %d bytes, want 1 to %d", n, maxFrame)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return message{}, fmt.Errorf("raft: message: %w", err)
	}
	var m message
	if err := json.Unmarshal(body, &m); err != nil {
		return message{}, fmt.Errorf("raft: message: %w", err)
	}
	return m, m.validate()
}

func (m message) validate() error {
	switch {
	case !plain(m.From):
		return fmt.Errorf("raft: message from %s, want an address", m.From)
	case m.Leader.IsValid() && !plain(m.Leader), m.Subject.IsValid() && !plain(m.Subject):
		return errors.New("raft: message about no plain address")
	case len(m.ID) > 128, len(m.To) > 128:
		return errors.New("raft: message with a text that is too long")
	case m.Code != code.Numbered(m.Code.Number()):
		return errors.New("raft: message with a code that is none")
	case m.Node != nameOf(m.Node), m.Software != nameOf(m.Software):
		return errors.New("raft: message with a name that is too long or cannot be printed")
	case m.Reason != textOf(m.Reason), m.Error != textOf(m.Error):
		return errors.New("raft: message with a text that is too long or cannot be printed")
	}
	if err := validateUnreached(m.Unreached); err != nil {
		return err
	}
	return validateSpread(m.Spread)
}

// The longest name of a node, or version of its program, and the longest text of a message, in bytes.
const (
	maxName = 253
	maxText = 500
)

func nameOf(s string) string { return printable.Clean(s, maxName) }

func textOf(s string) string { return printable.Clean(s, maxText) }

func plain(a netip.Addr) bool { return a.IsValid() && !a.Is4In6() && a.Zone() == "" }

func writeMessage(w io.Writer, m message) error {
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("raft: message: %w", err)
	}
	if len(body) > maxFrame {
		return fmt.Errorf("raft: message of %d bytes, want at most %d", len(body), maxFrame)
	}
	frame := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(body)), uint32(len(body)))
	_, err = w.Write(append(frame, body...))
	return err
}

func isEnd(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}
